"""No foreign data is run: every call that could is listed here, with the reason why it does not.

The search follows imports, whatever they are renamed to. A module that is made to run what it loads
is listed where it is imported, so that no way of calling it can be missed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "asyncguard"
NAMES = frozenset({"eval", "exec", "compile", "__import__", "execfile"})
# Modules that run what they are given, or start what runs it: listed wherever they are imported.
MODULES = frozenset({
    "pickle", "_pickle", "cPickle", "pickletools", "dill", "cloudpickle", "joblib", "marshal",
    "shelve", "dbm", "copyreg", "yaml", "ruamel", "jsonpickle", "runpy", "code", "codeop", "pty",
    "imp", "subprocess", "multiprocessing", "concurrent.futures.process", "pdb",
    "xmlrpc", "timeit", "commands",
})  # fmt: skip
# What other modules have that does so.
MEMBERS = {
    "builtins": NAMES,
    "os": {"system", "popen", "startfile", "posix_spawn", "posix_spawnp"},
    "os.exec": {"l", "le", "lp", "lpe", "v", "ve", "vp", "vpe"},
    "os.spawn": {"l", "le", "lp", "lpe", "v", "ve", "vp", "vpe"},
    "posix": {"system", "popen"},
    "torch": {"load", "hub"},
    "numpy": {"load", "loads"},
    "np": {"load"},  # a module that was passed on under its usual name
    "pandas": {"read_pickle", "eval"},
    "importlib": {"import_module", "reload", "__import__"},
    "asyncio": {"create_subprocess_shell", "create_subprocess_exec"},
    "concurrent.futures": {"ProcessPoolExecutor"},
}
DANGEROUS = frozenset(
    f"{module}{'' if module.startswith('os.') else '.'}{member}"
    for module, members in MEMBERS.items()
    for member in members
)
# Connections of `multiprocessing` unpickle what they receive.
METHODS = frozenset({"recv"})
LOOKED_UP = NAMES | {name.rpartition(".")[2] for name in DANGEROUS} | {"loads", "Unpickler"}
# What is allowed where, and why nobody else's data reaches it.
IMPORTS = "importlib.import_module"
ALLOWED = {
    ("runtime/launch.py", "exec"): "runs the program that the user asked to run",
    ("runtime/launch.py", "compile"): "of that program",
    ("runtime/shells.py", "'compile'"): "IPython's table of cells is asked for a name",
    ("pytest_plugin.py", IMPORTS): "a module of ours, by its name, for --asyncguard-own",
    ("runtime/detours.py", "compile"): "a template of its own with the names of free variables",
    ("lint/source/decode.py", "compile"): "of text that is parsed alone (`ONLY_PARSE`), never run",
    ("prepared.py", "import marshal"): "what lies beside the package's own bytecode, as trusted",
    ("lint/run/pool.py", "import multiprocessing"): (
        "processes that run the linter; new interpreters import nothing from the working directory"
    ),
    ("lint/run/pool.py", "recv"): ("messages between the linter's own processes, over their pipes"),
    ("runtime/launch.py", "import runpy"): "runs the module that the user asked to run",
    ("demo/__init__.py", "import subprocess"): "runs the demonstration's own programs, and pip",
    ("tune/copies.py", "import subprocess"): "runs git on the user's own repository, for `tune`",
    ("tune/runs.py", "import subprocess"): "runs the program that the user asked to tune",
    ("mcp/children.py", "import subprocess"): (
        "runs the program that an agent asked the tool `run` to run, and asyncguard itself"
    ),
    ("__init__.py", IMPORTS): "a public name's module, of a table of its own",
    ("compat.py", IMPORTS): "numpy and mxnet",
    ("lint/run/changes.py", IMPORTS): "watchfiles",
    ("startup/sitecustomize.py", IMPORTS): (
        "the `sitecustomize` that would have been read in its place, and a module of Python's"
    ),
    ("region.py", "import subprocess"): "a shell with a constant script, which no text reaches",
    ("pytest_limits.py", IMPORTS): "a module of the package",
    ("lint/report/registry.py", IMPORTS): "the rules, which are modules of the package",
    ("lint/fixes/repair.py", IMPORTS): "the repairs, likewise",
    ("render/__init__.py", IMPORTS): "the formats, likewise",
    ("runtime/torch_private.py", IMPORTS): "modules of torch, by names of a table of its own",
    ("runtime/device/subscription.py", IMPORTS): "the bindings of CUPTI and CUDA",
    ("runtime/registry.py", IMPORTS): "the adapters, which are modules of the package",
    ("sim/children.py", "import multiprocessing"): (
        "children that the program itself spawns: the simulation is begun in them too"
    ),
    ("sim/storages.py", "import multiprocessing"): "asks whether the program is spawning a child",
    ("sim/entry.py", IMPORTS): "a module of the package",
    ("sim/libraries.py", IMPORTS): "a module of torch",
}


def dangers(path: Path) -> list[str]:
    """The imports, calls and mentions in a file that could run data."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    meanings = dict(_imported(tree))
    return [danger for node in ast.walk(tree) for danger in _of(node, meanings)]


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, wherever it stands, and what it means."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    alias.asname or alias.name.partition(".")[0],
                    (alias.name if alias.asname else alias.name.partition(".")[0]),
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _of(node: ast.AST, meanings: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (f"import {name}" for a in node.names if (name := _module(a.name)))
    elif isinstance(node, ast.ImportFrom) and not node.level:
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            if name := _module(whole):
                yield f"import {name}"
            elif whole in DANGEROUS or (alias.name == "*" and node.module in MEMBERS):
                yield whole
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield node.id
    elif isinstance(node, ast.Attribute):
        whole = _dotted(node, meanings)
        if whole in DANGEROUS:
            yield whole
        elif node.attr in METHODS | (NAMES - {"compile", "eval"}):  # of `re`, of modules
            yield node.attr
    elif isinstance(node, ast.keyword) and node.arg in ("shell", "allow_pickle"):
        yield f"{node.arg}="
    elif isinstance(node, ast.Call | ast.Subscript):
        within = node.value if isinstance(node, ast.Subscript) else node.func
        of_modules = _dotted(within, meanings).startswith("sys.modules")
        texts = LOOKED_UP | MODULES if of_modules else LOOKED_UP
        yield from (f"{text!r}" for text in _looked_up(node) if text in texts)


def _module(name: str) -> str:
    """Return the module of the list that a dotted name lies in."""
    parts = name.split(".")
    heads = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((head for head in heads if head in MODULES), "")


def _dotted(node: ast.expr, meanings: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, meanings)
        return f"{owner}.{node.attr}" if owner else ""
    return meanings.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _looked_up(node: ast.Call | ast.Subscript) -> Iterator[str]:
    """Yield the texts by which something is looked up: `getattr(x, "load")`, `vars(x)["load"]`."""
    if isinstance(node, ast.Subscript):
        found = [node.slice]
    else:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        looks = name in ("getattr", "attrgetter", "methodcaller", "get", "pop", "import_module")
        found = node.args if looks else []
    for part in found:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def test_each_call_that_could_run_data_is_listed_with_a_reason() -> None:
    found = {
        (path.relative_to(PACKAGE).as_posix(), danger)
        for path in sorted(PACKAGE.rglob("*.py"))
        for danger in dangers(path)
    }
    new = found - ALLOWED.keys()
    assert not new, f"say in ALLOWED why no foreign data reaches {sorted(new)}"
    assert not ALLOWED.keys() - found, "ALLOWED names what is not there any more"


@pytest.mark.parametrize(
    "line",
    [
        "import pickle", "import pickle as p; p.load(f)", "from pickle import loads",
        "from pickle import loads as json; json(b)", "from pickle import *", "import _pickle",
        "sys.modules['pickle'].load(f)", "from sys import modules as m; m.get('marshal')",
        "def f():\n    import marshal", "import yaml as y; y.load(f)",
        "import torch as t; t.load(f)", "import code", "import json, code as c",
        "from torch import load as read", "import numpy as n\nn.load(f)", "np.load(f)",
        "np.savez(f, allow_pickle=True)", "eval(t)", "exec(t)", "compile(t, '', 'exec')",
        "run = exec", "__builtins__['eval'](t)", "import builtins as b; b.eval(t)",
        "from builtins import exec as go", "getattr(pickle, 'loads')(b)",
        "operator.attrgetter('system')(os)", "vars(os)['system']", "import os as o; o.system(c)",
        "from os import popen as look", "os.execvp(c, a)", "import os.path as p, os; os.spawnl(c)",
        "from os import *", "subprocess.run(c, shell=True)", "import subprocess as s",
        "from importlib import import_module as get; get(n)",
        "import importlib as i; i.import_module(n)",
        "from multiprocessing import connection", "c.recv()", "torch.hub.load(r)",
        "import concurrent.futures as c; c.ProcessPoolExecutor()", "x.exec(t)",
    ],
)  # fmt: skip
def test_the_search_cannot_be_evaded_by_another_name(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(line + "\n")
    assert dangers(tmp_path / "a.py")


def test_the_search_leaves_out_what_only_looks_like_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import re as r, json, ast, os\nfrom asyncguard import store\nfrom . import pickles\n"
        "r.compile(x); json.load(f); ast.literal_eval(t); store.load(p); model.eval()\n"
        "rows['code']; getattr(x, 'name'); from_params(compiled); code.co_name; os.replace(a)\n"
    )
    assert dangers(tmp_path / "a.py") == []
