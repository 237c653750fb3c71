"""Imports flow one way, and `import asyncguard` stays light."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from asyncguard import catalogue

PACKAGE = Path(__file__).parent.parent / "asyncguard"
# The parts, lowest floor first. A part imports only lower floors, and itself without circles.
FLOORS = [
    {"version", "model", "places", "extras", "idle", "region"},
    {"files", "plain"},
    {"prepared"},
    {"catalogue", "timeline", "engine", "compat"},
    {"additions"},
    {"lint.names"},
    {"lint.knowledge"},
    {"lint.labels"},
    {"lint.selectors"},
    {"lint.run.settings"},
    {"lint.source"},
    {"lint.syntax"},
    {"lint.domain"},
    {"lint.evidence"},
    {"lint.contexts"},
    {"lint.interpret"},
    {"lint.modules"},
    {"lint.program"},
    {"lint.report"},
    {"lint.checks"},
    {"lint.fixes"},
    {"lint.advice"},
    {"lint.run"},
    {"lint.check"},
    {"lint.trial", "lint.live"},
    {"lint", "runtime"},
    {"sim"},
    {"advise", "gate"},
    {"render"},
    {"screens"},
    {"reports"},
    {"api"},
    {"tune"},
    {"integrations"},
    {"cli.parsing", "cli.output"},
    {"cli.findings", "cli.fixes"},
    {"cli.options", "cli.live"},
    {"cli.watch"},
    {
        "demo",
        "cli.check",
        "cli.explain",
        "cli.report",
        "cli.rules",
        "cli.tune",
        "lsp",
        "notebook",
        "pytest_device",
        "pytest_limits",
    },
    {"cli.gate", "cli.run", "mcp", "startup"},
    {"cli.others"},
    {"cli", "pytest_plugin"},
    {"__main__"},
]
FLOOR = {part: depth for depth, parts in enumerate(FLOORS) for part in parts}
FRAMEWORKS = {"torch", "mxnet", "cupy", "jax", "tensorflow", "cupti"}
FILES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """Return a file's module name without the package's own."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """Return the part that a module belongs to: the longest of its prefixes that has a floor."""
    while module and module not in FLOOR:
        module = module.rpartition(".")[0]
    return module


MODULES = {f"asyncguard.{name_of(path)}".rstrip("."): path for path in FILES}


@functools.cache
def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            names.update(inside & MODULES.keys() or {node.module})
        elif isinstance(node, ast.ImportFrom):
            pytest.fail(f"{path}:{node.lineno}: relative import; write it out")
    return names


def test_a_part_imports_only_lower_floors() -> None:
    for path in FILES:
        if name_of(path) == "":  # the public names, loaded lazily, reach every part
            continue
        part = part_of(name_of(path))
        assert part, f"{path} has no floor"
        for name in imported_modules(path) & MODULES.keys():
            other = part_of(name.partition(".")[2])
            if other != part:
                assert FLOOR.get(other, 0) < FLOOR[part], f"{path} imports {name}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports for types and within functions count too."""
    graph = {
        name: {other for other in imported_modules(path) & MODULES.keys() if other != name}
        for name, path in MODULES.items()
    }
    TopologicalSorter(graph).prepare()


def test_frameworks_and_libcst_stay_in_their_places() -> None:
    for path in FILES:
        tops = {name.split(".")[0] for name in imported_modules(path)}
        part, *inside = path.relative_to(PACKAGE).with_suffix("").parts
        if part != "lint":
            assert "libcst" not in tops, path
        if [part, *inside][:2] != ["runtime", "adapters"] and part not in {"sim", "compat", "demo"}:
            assert not tops & FRAMEWORKS, path
        if part == "engine":
            third_party = tops - set(sys.stdlib_module_names) - {"asyncguard"}
            assert third_party <= {"numpy", "graphviz"}, path


def test_the_linter_reads_one_tree() -> None:
    """Python's own trees are for nothing in it but the constants of its rules' modules."""
    reading = {path for path in FILES if name_of(path).startswith("lint.")}
    own = {path for path in reading if "ast" in imported_modules(path)}
    assert [name_of(path) for path in own] == ["lint.labels"]
    assert "from ast import literal_eval\n" in own.pop().read_text(encoding="utf-8")


# What code may speak of by name, and words of English; rules files and adapters know the rest.
SPOKEN_OF = {
    "asyncguard", "chainer", "cuda", "cupy", "engine", "extra", "gpu", "jax", "keras", "mxnet",
    "numpy", "tensorflow", "torch",
}  # fmt: skip


def test_other_frameworks_and_devices_are_known_to_rules_files_and_adapters_alone() -> None:
    known = catalogue.load()
    names = {*known.frameworks, *known.devices}
    for framework in known.frameworks.values():
        modules = (*framework.modules, *framework.companions)
        names |= {module.partition(".")[0] for module in modules}
    assert {"musa", "numba", "onnxruntime", "paddle", "torch_npu", "warp"} <= names
    suffixes = {".py", ".pyi", ".c", ".jinja", ".js"}
    for path in PACKAGE.rglob("*"):
        if path.suffix in suffixes and PACKAGE / "runtime" / "adapters" not in path.parents:
            words = set(re.findall(r"[a-z0-9_]+", path.read_text(encoding="utf-8").lower()))
            assert not words & names - SPOKEN_OF, path


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_importing_asyncguard_imports_nothing_heavy() -> None:
    heavy = FRAMEWORKS | {"numpy", "libcst", "rich", "jinja2"}
    loaded = run_python("import sys, asyncguard; print(*sys.modules)").split()
    assert not heavy & set(loaded)


def test_every_public_name_loads() -> None:
    run_python("import asyncguard\nfor n in asyncguard.__all__: getattr(asyncguard, n)")


def test_reports_and_the_pytest_plugin_load_nothing_of_the_runtime() -> None:
    names = "asyncguard.render.summary, asyncguard.pytest_plugin, asyncguard.gate.basis"
    heavy = "('asyncguard.runtime.', 'asyncguard.sim.simulation', 'torch')"
    loaded = f"[name for name in sys.modules if name.startswith({heavy})]"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {names}; print({loaded})"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"
