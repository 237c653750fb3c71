"""No foreign data is run: every call that could is listed here, with the reason why it does not."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "asyncguard"
NAMES = {"eval", "exec", "compile", "__import__", "execfile"}
ATTRIBUTES = {
    "pickle": {"load", "loads", "Unpickler"},
    "cPickle": {"load", "loads"},
    "dill": {"load", "loads"},
    "cloudpickle": {"load", "loads"},
    "joblib": {"load"},
    "marshal": {"load", "loads"},
    "shelve": {"open"},
    "yaml": {"load", "load_all", "unsafe_load", "full_load"},
    "torch": {"load"},
    "numpy": {"load"},
    "np": {"load"},
    "os": {"system", "popen"},
    "runpy": {"run_path", "run_module"},
    "builtins": NAMES,
}
# Connections of `multiprocessing` unpickle what they receive.
METHODS = {"recv"}
# What is allowed where, and why nobody else's data reaches it.
ALLOWED = {
    ("runtime/launch.py", "exec"): "runs the program that the user asked to run",
    ("runtime/launch.py", "compile"): "of that program",
    ("runtime/takeover.py", "compile"): "a template of its own with the names of free variables",
    ("lint/syntax/makers.py", "exec"): "the text is made of libcst's own class and field names",
    (
        "lint/run/pool.py",
        "recv",
    ): "messages between the linter's own processes, over their pipes",
}


def dangers(path: Path) -> list[str]:
    """The calls and mentions in a file that could run data."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and node.id in NAMES:
            found.append(node.id)
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in ATTRIBUTES.get(owner, ()) or node.attr in METHODS:
                found.append(node.attr if node.attr in METHODS else f"{owner}.{node.attr}")
        elif isinstance(node, ast.ImportFrom):
            bad = ATTRIBUTES.get(node.module or "", set())
            found += [f"{node.module}.{a.name}" for a in node.names if a.name in bad]
        elif isinstance(node, ast.keyword) and node.arg == "shell":
            found.append("shell=")
    return found


def test_each_call_that_could_run_data_is_listed_with_a_reason() -> None:
    found = {
        (path.relative_to(PACKAGE).as_posix(), danger)
        for path in sorted(PACKAGE.rglob("*.py"))
        for danger in dangers(path)
    }
    new = found - ALLOWED.keys()
    assert not new, f"say in ALLOWED why no foreign data reaches {new}"
    assert not ALLOWED.keys() - found, "ALLOWED names what is not there any more"


def test_the_search_sees_what_it_looks_for(tmp_path: Path) -> None:
    lines = (
        "pickle.load(f)", "pickle.loads(b)", "eval(t)", "exec(t)", "compile(t, '', 'exec')",
        "yaml.load(f)", "marshal.loads(b)", "subprocess.run(c, shell=True)", "os.system(c)",
        "from pickle import loads", "run = exec", "c.recv()",
    )  # fmt: skip
    for line in lines:
        (tmp_path / "a.py").write_text(line + "\n")
        assert dangers(tmp_path / "a.py"), line
    (tmp_path / "a.py").write_text("re.compile(x); json.load(f); ast.literal_eval(t)\n")
    assert dangers(tmp_path / "a.py") == []
