"""Keeping a class from turning into a sequence.

C code asks a class for its slots, and CPython fills two of them where a class gets a `__getitem__`:
that of mappings and that of sequences; the same with `__setitem__`. torch's tensors have the first
alone: with the second, `torch.tensor([scalar])` looks for elements in each scalar, and fails.
CPython leaves it filled when the attribute is deleted. So it is emptied here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

# Attribute -> the sequence slot's number in CPython's stable interface (typeslots.h), and its place
# among the sequence slots.
_SLOTS = {"__getitem__": (44, 3), "__setitem__": (39, 5)}
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_AS_SEQUENCE = 13 * _POINTER  # of a class: where its sequence slots are

_get_slot = ctypes.pythonapi.PyType_GetSlot
_get_slot.restype = ctypes.c_void_p
_get_slot.argtypes = [ctypes.py_object, ctypes.c_int]


def is_empty(kind: type, name: str) -> bool:
    """Whether the class has a sequence slot for `name` and leaves it empty."""
    return name in _SLOTS and _get_slot(kind, _SLOTS[name][0]) is None


def empty(kind: type, name: str) -> None:
    """Empty the class's sequence slot for `name`, and that of the classes that derive from it.

    Classes that bring a `name` of their own stay what they are. Raises TypeError where this
    interpreter's classes look different from CPython's.
    """
    provider = _provider(kind, name)
    for each in _family(kind):
        if _provider(each, name) is provider and not is_empty(each, name):
            _empty(each, *_SLOTS[name])


def _empty(kind: type, number: int, place: int) -> None:
    methods = ctypes.c_void_p.from_address(id(kind) + _AS_SEQUENCE).value
    slot = ctypes.c_void_p.from_address(methods + place * _POINTER) if methods else None
    if slot is None or slot.value != _get_slot(kind, number):
        raise TypeError(f"the slots of {kind.__name__} are not where CPython has them")
    slot.value = None


def _provider(kind: type, name: str) -> type | None:
    return next((base for base in kind.__mro__ if name in vars(base)), None)


def _family(kind: type) -> Iterator[type]:
    yield kind
    each: type
    for each in type.__subclasses__(kind):
        yield from _family(each)
