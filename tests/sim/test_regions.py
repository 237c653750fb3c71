"""The linter, dynamo and the simulated device agree on what breaks a graph.

The programs are cases of the linter: each function of theirs is run, and must break its graph if a
line of it, or of a helper that it calls, is marked.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from asyncguard.sim.captures import CaptureError
from tests.frameworks import require

torch: Any = require("torch")
CASES = Path(__file__).parents[1] / "lint" / "cases" / "graphs"
SPLIT = "a_wait_splits_what_dynamo_compiles"
WHOLE = "a_wait_fails_in_what_dynamo_compiles_whole"
CAPTURE = "a_wait_in_a_capture_fails"
HELD = ("item", "mask")  # that torch holds in a whole graph since 2.10
RELEASE = tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))


class Program(NamedTuple):
    """A function of a case, and whether the linter says that it breaks its graph."""

    case: str
    name: str
    breaks: bool

    @property
    def module(self) -> ModuleType:
        path = CASES / f"{self.case}.py"
        module = ModuleType(self.case)
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
        return module


def programs(case: str) -> Iterator[Program]:
    """Yield the functions of a case; those named with an underscore are helpers."""
    text = (CASES / f"{case}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    kinds = (ast.FunctionDef, ast.ClassDef)
    defined = [node for node in ast.parse(text).body if isinstance(node, kinds)]
    source = {n.name: "\n".join(lines[n.lineno - 1 : n.end_lineno]) for n in defined}
    marked = {name for name, body in source.items() if re.search(r"# ASG50[12]", body)}
    for name, body in source.items():
        if not name.startswith("_"):
            helpers = {word for word in re.findall(r"\b_\w+", body) if word in source}
            yield Program(case, name, not marked.isdisjoint({name, *helpers}))


def inputs() -> Any:
    return torch.arange(16.0).reshape(4, 4) / 2 + torch.eye(4)


def run(program: Program, x: Any) -> None:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(program.module, program.name)(x)


def listed(case: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", [*programs(case)], ids=lambda program: program.name)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.skipif(
    not hasattr(torch._dynamo, "error_on_graph_break"),
    reason="this release of torch cannot raise where a graph breaks",
)
@listed(SPLIT)
def test_dynamo_breaks_a_graph_where_the_linter_says_so(program: Program) -> None:
    run(program, inputs())  # a break is no error
    torch._dynamo.reset()
    with torch._dynamo.error_on_graph_break(True), refused(program.breaks):
        run(program, inputs())


@listed(WHOLE)
def test_dynamo_refuses_a_whole_graph_where_the_linter_says_so(program: Program) -> None:
    held = program.name in HELD and RELEASE >= (2, 10)
    with refused(program.breaks and not held):
        run(program, inputs())


def refused(breaks: bool) -> Any:
    errors = torch._dynamo.exc.TorchDynamoException
    return pytest.raises(errors) if breaks else contextlib.nullcontext()


@listed(CAPTURE)
def test_a_capture_fails_where_the_linter_says_so(program: Program) -> None:
    from asyncguard import simulate_cuda

    fails = pytest.raises(CaptureError, match="captur") if program.breaks else None
    with simulate_cuda():
        x = inputs().to("cuda")
        with fails or contextlib.nullcontext():
            run(program, x)
