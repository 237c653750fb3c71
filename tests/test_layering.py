"""Imports flow one way, and `import asyncguard` stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "asyncguard"
# A part may import only parts on the same or an earlier layer; `lint` and `runtime` share a layer
# and never import each other.
LAYERS = [
    {"model"},
    {"catalogue", "timeline", "engine", "compat"},
    {"lint", "runtime"},
    {"sim"},
    {"advise", "gate"},
    {"render"},
    {"api"},
    {"integrations"},
    {"demo"},
    {"cli", "pytest_plugin", "flake8_plugin", "lsp"},
    {"__main__"},
]
LAYER = {part: depth for depth, parts in enumerate(LAYERS) for part in parts}
FRAMEWORKS = {"torch", "mxnet", "cupy", "jax", "tensorflow", "cupti"}
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            pytest.fail(f"{path}:{node.lineno}: relative import; write it out")
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_part_imports_only_earlier_layers(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":  # the public names, loaded lazily, reach every part
        return
    assert part in LAYER, f"{part} has no place in the design's layers"
    for name in imported_modules(path):
        if not name.startswith("asyncguard."):
            continue
        other = name.split(".")[1]
        if other not in LAYER or other == part:
            continue
        assert LAYER[other] < LAYER[part], f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_frameworks_and_libcst_stay_in_their_places(path: Path) -> None:
    tops = {name.split(".")[0] for name in imported_modules(path)}
    inside = path.relative_to(PACKAGE).parts
    if part_of(path) != "lint":
        assert "libcst" not in tops
    if inside[:2] != ("runtime", "adapters") and part_of(path) not in {"sim", "compat", "demo"}:
        assert not tops & FRAMEWORKS
    if part_of(path) == "engine":
        third_party = tops - set(sys.stdlib_module_names) - {"asyncguard"}
        assert third_party <= {"numpy", "graphviz"}


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
