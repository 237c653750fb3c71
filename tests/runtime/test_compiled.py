"""Compiled programs run compiled before, in and after a trace of either depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from asyncguard.runtime import torch_private
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import counts

torch = require("torch")
DATA = torch.arange(3.0)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(ran: list[str], fullgraph: bool) -> Callable[[Any], Any]:
    """A compiled program that notes each time that it runs compiled."""

    def backend(graph: Any, inputs: Any) -> Any:
        ran.append("compile")

        def run(*args: Any) -> Any:
            ran.append("run")
            return graph.forward(*args)

        return run

    @torch.compile(backend=backend, fullgraph=fullgraph)
    def program(x: Any) -> Any:
        return torch.where(x > 1, x, x * 2).sum()

    return program  # type: ignore[no-any-return]


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("depth", ["light", "full"])
@pytest.mark.parametrize("first", ["before", "within"])
def test_a_compiled_function_runs_compiled(depth: str, fullgraph: bool, first: str) -> None:
    if depth == "full" and not torch_private.keeps_compiled():
        pytest.skip("this torch compiles nothing beside a dispatch mode, and users are told (2.11)")
    ran: list[str] = []
    program = compiled(ran, fullgraph)
    if first == "before":
        program(DATA)
    with Session(depth=depth) as session:
        for _ in range(3):
            assert program(DATA).item() == 4
    assert program(DATA).item() == 4
    runs = 5 if first == "before" else 4
    assert ran == ["compile", *["run"] * runs]
    assert counts(session.record())["torch.Tensor.item"] == 3


def test_full_depth_sees_the_operators_around_a_compiled_function() -> None:
    program = compiled([], True)
    with Session(depth="full") as session:
        program(DATA)
        torch.ops.aten.nonzero(DATA)
    assert counts(session.record()) == {"torch.nonzero": 1}


def test_a_torch_that_cannot_keep_them_compiled_is_told_of_before_it_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch_private, "keeps_compiled", lambda: False)
    with pytest.warns(RuntimeWarning, match="compiled functions run uncompiled"):
        session = Session(depth="full").start()
    session.stop()
