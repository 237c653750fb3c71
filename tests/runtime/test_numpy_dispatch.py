"""NumPy asks its own protocols first while its functions are watched."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import pytest

from asyncguard.runtime import takeover
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import is_watched

numpy = require("numpy")
HOLDERS = ("jax", "tensorflow")  # whose adapters watch functions of NumPy's


class Metres:
    """A quantity with a table of NumPy's functions, as those of unyt and pint."""

    HANDLED: dict[Any, Any] = {}  # noqa: RUF012

    def __init__(self, values: Any) -> None:
        self.values = numpy.asarray(values)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in self.HANDLED:
            return NotImplemented
        return Metres(self.HANDLED[func](*args, **kwargs))


def plain(parts: Any) -> Any:
    return [part.values for part in parts]


def fill() -> dict[Any, Any]:
    return {
        numpy.concatenate: lambda parts: numpy.concatenate(plain(parts)),
        numpy.stack: lambda parts: numpy.stack(plain(parts)),
    }


@pytest.mark.parametrize("name", ["concatenate", "stack", "asarray"])
def test_the_collector_finds_each_object_as_it_was_made(name: str) -> None:
    thing, layer = getattr(numpy, name), takeover.Layer(lambda original: original)
    before = gc.is_tracked(thing)
    takeover.target(thing).add(layer)
    try:
        assert gc.is_tracked(thing) == before  # else a header is looked for that is not there
        gc.collect()
    finally:
        takeover.target(thing).remove(layer)


@pytest.mark.parametrize("framework", HOLDERS)
def test_units_are_kept(framework: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require(framework)
    parts = [Metres([1.0]), Metres([2.0])]
    functions = numpy.concatenate, numpy.stack
    for table in ("before", "within"):
        if table == "before":
            monkeypatch.setattr(Metres, "HANDLED", fill())
        with Session(frameworks=[framework]):
            if table == "within":
                monkeypatch.setattr(Metres, "HANDLED", fill())
            assert all(map(is_watched, functions))
            assert (numpy.concatenate, numpy.stack) == functions
            assert pickle.loads(pickle.dumps(numpy.stack)) is numpy.stack
            joined = numpy.concatenate(parts)
            assert isinstance(joined, Metres)
            assert joined.values.tolist() == [1.0, 2.0]
            assert isinstance(numpy.stack(parts), Metres)
        assert isinstance(numpy.concatenate(parts), Metres)
    assert not any(map(is_watched, functions))
