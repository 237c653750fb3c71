"""torch's private names: all in one place, all there, and a torch that lacks one is refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import asyncguard
from asyncguard.model import AsyncguardError
from asyncguard.runtime import torch_names
from asyncguard.runtime import torch_private as private

from ..frameworks import require

PACKAGE = Path(asyncguard.__file__).parent
USERS = sorted(
    path
    for folder in ("runtime", "sim")
    for path in (PACKAGE / folder).rglob("*.py")
    if path.name not in ("torch_private.py", "jax.py")
)
OTHERS = {"_getframe", "_current_frames", "_get_running_loop", "_current_tasks"}  # sys's, asyncio's
OTHERS |= {"_run_module_as_main", "_replace"}  # runpy's, a named tuple's


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in USERS}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def own_names() -> set[str]:
    """The names that asyncguard itself defines, attributes among them, and those of Python's.

    What the linter defines is not asked: it runs without torch.
    """
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if "lint" in path.relative_to(PACKAGE).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found | OTHERS


def private_names(tree: ast.Module, own: set[str]) -> Iterator[tuple[int, str]]:
    """Attributes that asyncguard does not define, imports from torch, and `getattr` of either."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if node.attr not in own or ast.unparse(node.value).startswith("torch"):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or ""
            for alias in node.names:
                parts = f"{module}.{alias.name}".strip(".").split(".")
                if parts[0] == "torch" and any(map(is_private, parts)):
                    yield node.lineno, ".".join(parts)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant) and is_private(name.value) and name.value not in own:
                yield node.lineno, ast.unparse(node)


def test_no_other_file_names_what_is_torchs_own() -> None:
    own = own_names() | {"_initializing", "_LIB"}  # of a module's spec, and of mxnet's library
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path, tree in trees().items()
        for line, name in private_names(tree, own)
    ]
    assert not found, "name these in runtime/torch_names.py: " + ", ".join(found)


def test_the_search_sees_each_form_of_a_name() -> None:
    text = (
        "import torch._dynamo\nfrom torch.utils import _device\ntorch._C.x()\n"
        "value._torchs_own\ngetattr(value, '_op')\nself.mine._own_name\n"
    )
    found = dict(private_names(ast.parse(text), {"_own_name"}))
    assert sorted(found) == [1, 2, 3, 4, 5]


def test_each_name_is_used_and_each_use_is_a_name() -> None:
    used = {
        node.attr
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "private"
    }
    ours = {name for name in vars(private) if not name.startswith("__")} - torch_names.NAMES.keys()
    assert used <= torch_names.NAMES.keys() | ours
    in_the_file = {"BARRIER", "TorchDispatchMode", "gpu_trace"}
    assert torch_names.NAMES.keys() <= used | in_the_file


@pytest.fixture
def torch() -> ModuleType:
    return require("torch")


def test_this_torch_has_them_all(torch: ModuleType) -> None:
    private.check()
    late = {name: getattr(private, name) for name, each in torch_names.NAMES.items() if each.late}
    assert private.TensorBase is torch._C.TensorBase
    assert late["trace_rules"].__name__ == "torch._dynamo.trace_rules"


def test_simulated_cuda_replaces_only_what_is_listed(torch: ModuleType) -> None:
    from asyncguard.sim import refusals
    from asyncguard.sim.simulation import Simulation

    made = Simulation("h200", 1, "fixed")
    listed = {f"{owner}.{name}" for owner, names in torch_names.REPLACED.items() for name in names}
    replaced = map(str, dict.fromkeys(place for place, _ in made.replacements()))
    private_ones = {name for name in replaced if any(map(is_private, name.split(".")))}
    simulated = {name.rpartition(".")[2] for name in listed}
    refused = {str(place) for place, _ in refusals.replacements(simulated)}  # a build for CUDA's
    assert private_ones - refused == listed - refused


@pytest.mark.parametrize(
    ("version", "missing", "message"),
    [
        ("2.5.1", "", "needs torch 2.6 or newer, and this is 2.5.1: pip install --upgrade"),
        (
            "3.0.0",
            "storage_use_count",
            r"does not fit torch 3.0.0, which has no .*torch._C._storage_Use_Count: take a newer",
        ),
    ],
)
def test_a_torch_that_does_not_fit_is_refused_with_the_remedy(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch, version: str, missing: str, message: str
) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    if missing:
        monkeypatch.delattr(torch._C, torch_names.NAMES[missing].path.rpartition(".")[2])
    with pytest.raises(AsyncguardError, match=message):
        private.check()


def test_a_name_is_looked_for_only_in_the_releases_that_have_it() -> None:
    name = private.Name("torch.gone", since="2.7", until="2.9")
    assert [name.is_in(each) for each in ("2.6.0", "2.7.1", "2.8.0+cpu", "2.9.0")] == [
        False, True, True, False,
    ]  # fmt: skip


def test_hooks_are_tried_out_once_on_torch_as_it_is(torch: ModuleType) -> None:
    from asyncguard.runtime.adapters.torch import selftest

    kinds = [type(trial[0]) for trial in selftest.TRIALS]
    selftest.check()
    assert [type(trial[0]) for trial in selftest.TRIALS] == kinds
    with torch.device("meta"), torch.no_grad():  # whatever the program has set
        selftest.check()


@pytest.mark.parametrize(
    ("call", "result", "message"),
    [
        (lambda value: 1.0, 1.0, "a call of item passes a hook 0 times"),
        (lambda value: value.item() and value.item(), 1.0, "passes a hook 2 times"),
        (lambda value: value.item(), 2.0, "item returns 1.0 under a hook"),
    ],
)
def test_a_torch_that_hooks_do_not_see_is_refused(
    torch: ModuleType, call: object, result: float, message: str
) -> None:
    from asyncguard.runtime.adapters.torch import selftest

    with pytest.raises(AsyncguardError, match=message):
        selftest.check(((torch.Tensor.item, call, result),))
