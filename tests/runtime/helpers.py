"""What the runtime's tests share: a clock that is wound by hand, and rows that read well."""

from __future__ import annotations

import ctypes
import types
from collections import Counter
from typing import Any

from asyncguard.model import TraceRecord
from asyncguard.runtime import detours


class Clock:
    """Nanoseconds that pass only when told to; `tick` of them at each look."""

    def __init__(self, tick: int = 0) -> None:
        self.now = 0
        self.tick = tick

    def __call__(self) -> int:
        self.now += self.tick
        return self.now


def counts(record: TraceRecord) -> dict[str, int]:
    """API -> how often it waited."""
    total: Counter[str] = Counter()
    for site in record.sites:
        total[site.api] += site.count
    return dict(total)


def is_watched(thing: Any) -> bool:
    """Whether the calls of this object pass through a hook."""
    if isinstance(thing, types.FunctionType):
        return thing.__code__.co_filename == detours.__file__
    return type(thing) is not thing.__class__


def attributes(owner: Any) -> dict[str, Any]:
    """The very objects that an owner's namespace holds, and what C code sees of a class."""
    return {**vars(owner), **_slots(owner)}


def changed(owner: Any, before: dict[str, Any]) -> list[str]:
    """The names whose objects are not those of `before`."""
    now = attributes(owner)
    return [n for n in {*now, *before} if not _same(now.get(n, ...), before.get(n, ...))]


def is_sequence(kind: type) -> bool:
    """Whether C code looks for elements by number in such objects: Py_sq_item, Py_sq_ass_item."""
    slots = _slots(kind)
    return bool(slots["slot 44"] or slots["slot 39"])


def _same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, _Slot) and one == other)


class _Slot(int):
    """An address of C code's."""


def _slots(owner: Any) -> dict[str, Any]:
    """Where each slot of a class leads: what its attributes are to C code."""
    if not isinstance(owner, type):
        return {}
    get = ctypes.pythonapi.PyType_GetSlot
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    return {f"slot {number}": _Slot(get(owner, number) or 0) for number in range(1, 81)}
