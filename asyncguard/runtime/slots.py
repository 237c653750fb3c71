"""Keeping a class from turning into a sequence.

C code asks a class for its slots, and CPython fills two of them where a class gets a `__getitem__`:
that of mappings and that of sequences, `sq_item`. torch's tensors have the first alone: with the
second, `torch.tensor([scalar])` looks for elements in each scalar, and fails. CPython leaves it
filled when the attribute is deleted. So it is emptied here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

_SQ_ITEM = 44  # its number in CPython's stable interface, typeslots.h
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_AS_SEQUENCE = 13 * _POINTER  # of a class, in words: where its sequence slots are
_ITEM = 3 * _POINTER  # of those

_get_slot = ctypes.pythonapi.PyType_GetSlot
_get_slot.restype = ctypes.c_void_p
_get_slot.argtypes = [ctypes.py_object, ctypes.c_int]


def is_sequence(kind: type) -> bool:
    """Whether C code takes instances of the class for sequences."""
    return _get_slot(kind, _SQ_ITEM) is not None


def hide(kind: type) -> None:
    """Let C code not take instances of the class, and of those that derive from it, for sequences.

    Classes that bring a `__getitem__` of their own stay what they are. Raises TypeError where this
    interpreter's classes look different from CPython's.
    """
    provider = _provider(kind)
    for each in _family(kind):
        if _provider(each) is provider and is_sequence(each):
            _empty(each)


def _empty(kind: type) -> None:
    methods = ctypes.c_void_p.from_address(id(kind) + _AS_SEQUENCE).value
    slot = ctypes.c_void_p.from_address(methods + _ITEM) if methods else None
    if slot is None or slot.value != _get_slot(kind, _SQ_ITEM):
        raise TypeError(f"the slots of {kind.__name__} are not where CPython has them")
    slot.value = None


def _provider(kind: type) -> type | None:
    return next((base for base in kind.__mro__ if "__getitem__" in vars(base)), None)


def _family(kind: type) -> Iterator[type]:
    yield kind
    each: type
    for each in type.__subclasses__(kind):
        yield from _family(each)
