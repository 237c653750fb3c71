"""A trace changes nothing for the program: torch's functions are one object before, in and after.

Each test does in a trace what programs and libraries do with functions, and looks at it later.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

import asyncguard
from asyncguard.runtime import slots
from asyncguard.runtime.registry import registry
from asyncguard.runtime.session import Session
from tests.frameworks import default_device, require
from tests.runtime.helpers import changed, counts, is_watched

torch = require("torch")
DATA = torch.arange(6.0).reshape(2, 3)
NAMES = (
    "where", "equal", "tensor", "arange", "nonzero", "Tensor.item", "Tensor.to", "Tensor.cpu",
    "Tensor.tolist", "Tensor.numpy", "Tensor.__getitem__", "Tensor.__setitem__", "Tensor.__bool__",
    "Tensor.__repr__", "nn.functional.one_hot", "nn.utils.clip_grad_norm_", "unique",
    "cuda.synchronize", "linalg.inv",
)  # fmt: skip


def named(name: str) -> Any:
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


BEFORE = {name: named(name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_the_same_object_in_a_trace(name: str) -> None:
    with Session(frameworks=["torch"]):
        assert named(name) is BEFORE[name]
        assert is_watched(named(name))
    assert named(name) is BEFORE[name]
    assert not is_watched(named(name))


@pytest.mark.parametrize("name", sorted({*NAMES} - {"unique", "Tensor.__getitem__"}))
def test_a_function_is_pickled_and_copied_in_a_trace_as_without(name: str) -> None:
    before = pickle.dumps(named(name))
    with Session(frameworks=["torch"]):
        assert pickle.dumps(named(name)) == before
        assert copy.deepcopy(named(name)) is BEFORE[name]
        assert pickle.loads(before) is BEFORE[name]


def test_a_model_that_took_a_function_in_a_trace_can_be_saved_after_it() -> None:
    with Session(frameworks=["torch"]):
        model = torch.nn.Linear(2, 2)
        model.encode, model.read = torch.nn.functional.one_hot, torch.Tensor.item
    again = pickle.loads(pickle.dumps(model))
    assert (again.encode, again.read) == (BEFORE["nn.functional.one_hot"], BEFORE["Tensor.item"])


def keeping_class() -> type:
    """A tensor that stays of its class under the functions of a table, as tv_tensors do."""

    class Image(torch.Tensor):
        KEEP = {torch.Tensor.to, torch.Tensor.clone, torch.where}  # noqa: RUF012

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            with torch._C.DisableTorchFunctionSubclass():
                out = func(*args, **(kwargs or {}))
            return out.as_subclass(cls) if func in cls.KEEP else out

    return Image


def kept(image: Any) -> list[str]:
    value = torch.ones(2).as_subclass(image)
    results = (value.to(torch.float64), value.clone(), torch.where(value > 0, value, 0), value + 1)
    return [type(result).__name__ for result in results]


def test_tables_keyed_by_functions_hold_before_in_and_after_a_trace() -> None:
    before, expected = keeping_class(), ["Image", "Image", "Image", "Tensor"]
    assert kept(before) == expected
    with Session(frameworks=["torch"]):
        within = keeping_class()
        assert (kept(before), kept(within)) == (expected, expected)
    assert (kept(before), kept(within)) == (expected, expected)


def test_a_handler_is_given_what_is_compares_with() -> None:
    seen: list[bool] = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func is torch.Tensor.item or func is torch.equal or func is torch.unique)
            return super().__torch_function__(func, types, args, kwargs or {})

    value = torch.ones(()).as_subclass(Asked)
    with Session(frameworks=["torch"]) as session:
        value.item()
        torch.equal(value, value)
    assert seen == [True, True]
    assert counts(session.record()) == {"torch.Tensor.item": 1, "torch.equal": 1}


def test_a_function_mode_sees_what_it_sees_without_a_trace() -> None:
    class Listing(torch.overrides.TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[object] = []

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.seen.append(func)
            return func(*args, **(kwargs or {}))

    def use() -> list[object]:
        with Listing() as mode:
            DATA[DATA > 1].sum().item()
            torch.unique(DATA)
            torch.linalg.inv(torch.eye(2))
            torch.tensor([1.0]).tolist()
        return mode.seen

    before = use()
    with Session(frameworks=["torch"]):
        within = use()
    assert within == before
    assert all(one is other for one, other in zip(before, within, strict=True))


def test_graphs_made_in_a_trace_hold_the_functions() -> None:
    def program(x: Any) -> Any:
        return torch.where(x > 0, x, torch.nn.functional.one_hot(x.to(torch.int64), 9).sum())

    before = torch.fx.symbolic_trace(program)
    with Session(frameworks=["torch"]):
        within = torch.fx.symbolic_trace(program)
    pairs = zip(before.graph.nodes, within.graph.nodes, strict=True)
    assert all(one.target is other.target or one.target == other.target for one, other in pairs)
    assert within.code == before.code


def test_a_graph_made_by_hand_in_a_trace_holds_the_function_itself() -> None:
    where = torch.where
    with Session(frameworks=["torch"]):
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_function(torch.where, (x,)))
    (call,) = (node for node in graph.nodes if node.op == "call_function")
    assert call.target is where is torch.where


def forget() -> None:
    """Have torch look up anew what it remembers of its functions."""
    for thing in (*vars(torch.overrides).values(), *vars(torch.utils._device).values()):
        if callable(thing):
            kept = inspect.unwrap(thing, stop=lambda each: hasattr(each, "cache_clear"))
            getattr(kept, "cache_clear", int)()


def test_what_torch_remembers_in_a_trace_holds_after_it() -> None:
    forget()
    with asyncguard.trace():
        found = torch.overrides.get_overridable_functions()
        tested = torch.overrides.get_testing_overrides()
    assert torch.where in tested
    assert torch.Tensor.item in tested
    assert torch.Tensor.item in found[torch.Tensor]
    assert torch.where in found[torch]
    assert torch.overrides.resolve_name(torch.Tensor.item) == "torch.Tensor.item"
    with default_device("meta"):
        assert torch.arange(3).is_meta
        assert torch.tensor([1]).is_meta


@pytest.mark.parametrize(
    "name", ["torch.Tensor.item", "torch.where", "torch.Tensor.__repr__", "torch.Tensor.tolist"]
)
def test_what_is_mocked_across_the_end_of_a_trace_ends_as_it_was(name: str) -> None:
    before = dict(vars(torch.Tensor)), torch.where
    patch = mock.patch(name)
    with Session(frameworks=["torch"]):
        patch.start()
    patch.stop()
    after = [name for name in changed(torch.Tensor, before[0]) if not name.startswith("slot")]
    assert after == []
    assert torch.where is before[1]
    with Session(frameworks=["torch"]) as session:
        DATA[0, 0].item()
    assert session.record().total_syncs == 1


def test_an_attribute_that_somebody_else_changed_is_left_to_them_and_named() -> None:
    own, empty = torch.Tensor.__getitem__, slots.empties(torch.Tensor, "__getitem__")
    session = Session(frameworks=["torch"]).start()
    theirs = torch.Tensor.__getitem__ = lambda self, index: own(self, index)
    session.stop()
    try:
        assert torch.Tensor.__getitem__ is theirs
        (note,) = [note for note in session.record().notes if "torch.Tensor.__getitem__" in note]
        assert "left" in note
    finally:
        del torch.Tensor.__getitem__
        for _, slot in empty:  # which Python filled for theirs
            slot.value = None
    assert DATA[0, 1].item() == 1


def test_a_library_that_wraps_in_a_trace_and_unwraps_after_it_leaves_what_was_there() -> None:
    own = torch.nn.functional.one_hot
    with Session(frameworks=["torch"]) as session:
        torch.nn.functional.one_hot = lambda *args: own(*args)
        torch.nn.functional.one_hot(torch.tensor([1, 0]))
    assert counts(session.record())["torch.nn.functional.one_hot"] == 1
    torch.nn.functional.one_hot = own
    assert torch.nn.functional.one_hot is BEFORE["nn.functional.one_hot"]


def test_a_name_that_was_bound_long_before_is_seen() -> None:
    read, where = torch.Tensor.item, torch.where
    bound = DATA[0, 0].item
    with Session(frameworks=["torch"]) as session:
        list(map(read, DATA.flatten()))
        where(DATA > 0)
    assert counts(session.record()) == {"torch.Tensor.item": 6, "torch.where": 1}
    assert bound() == 0


def test_a_method_bound_in_a_trace_reads_after_it() -> None:
    with Session(frameworks=["torch"]) as session:
        read = DATA[0, 1].item
        assert read() == 1
    assert counts(session.record()) == {"torch.Tensor.item": 1}
    assert read() == 1


@pytest.fixture
def compiled() -> Iterator[list[int]]:
    """How often a backend was asked to compile."""
    torch._dynamo.reset()
    compilations: list[int] = []
    yield compilations
    torch._dynamo.reset()


def test_a_function_compiled_before_a_trace_is_not_compiled_again_in_it(
    compiled: list[int],
) -> None:
    def backend(graph: Any, inputs: Any) -> Any:
        compiled.append(1)
        return graph.forward

    @torch.compile(backend=backend)
    def program(x: Any) -> Any:
        x = torch.where(x > 0, x, torch.zeros_like(x))
        return torch.nn.functional.one_hot(x.to(torch.int64), 9)

    program(DATA)
    with Session(frameworks=["torch"]):
        program(DATA)
    program(DATA)
    assert compiled == [1]


def test_what_is_compiled_over_a_function_of_pythons_runs_in_a_trace_and_after(
    compiled: list[int],
) -> None:
    def backend(graph: Any, inputs: Any) -> Any:
        compiled.append(1)
        return graph.forward

    @torch.compile(backend=backend, fullgraph=True)
    def program(x: Any) -> Any:
        torch.nn.utils.clip_grad_norm_([x], 1.0)
        return x * 2

    expected = program(DATA)
    for _ in range(2):
        with Session(frameworks=["torch"]):
            assert torch.equal(program(DATA), expected)
        assert torch.equal(program(DATA), expected)
    assert len(compiled) <= 2  # its code is another in a trace


def test_nothing_is_watched_without_a_session() -> None:
    assert not registry.adapters()
    assert not any(is_watched(named(name)) for name in NAMES)


def test_a_trace_is_copied_and_pickled_with_what_it_has_recorded() -> None:
    with asyncguard.trace(frameworks=["torch"]) as trace:
        DATA[0, 1].item()
        running = copy.deepcopy(trace)
        DATA[0, 1].item()
    again = pickle.loads(pickle.dumps(trace))
    assert (running.total_syncs, trace.total_syncs) == (1, 2)
    assert again.record == trace.record
