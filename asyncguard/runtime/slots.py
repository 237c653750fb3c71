"""Keeping a class from turning into a sequence.

C code asks a class for its slots, and CPython fills two of them where a class gets a `__getitem__`:
that of mappings and that of sequences; the same with `__setitem__`. torch's tensors have the first
alone: with the second, `torch.tensor([scalar])` looks for elements in each scalar, and fails.
CPython leaves it filled when the attribute is deleted. So it is emptied here.
"""

from __future__ import annotations

import ctypes
import functools

# Attribute -> the sequence slot's number in CPython's stable interface (typeslots.h), and its place
# among the sequence slots.
_SLOTS = {"__getitem__": (44, 3), "__setitem__": (39, 5)}
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_AS_SEQUENCE = 13 * _POINTER  # of a class: where its sequence slots are

_get_slot = ctypes.pythonapi.PyType_GetSlot
_get_slot.restype = ctypes.c_void_p
_get_slot.argtypes = [ctypes.py_object, ctypes.c_int]


def empties(kind: type, name: str) -> list[tuple[type, ctypes.c_void_p]]:
    """The sequence slots for `name` that must stay empty: the class's, and its descendants'.

    Each with its class, whose memory it is. None where the class's own is filled, and none of those
    that bring a `name` of their own. Raises TypeError where this interpreter's classes look
    different from CPython's.
    """
    if name not in _SLOTS:
        return []
    number, place = _SLOTS[name]
    _verify(number, place)
    family = [kind]
    for each in family:
        family.extend(type.__subclasses__(each))
    slots = _slots(place, tuple(map(id, family)))
    if slots[0].value:
        return []
    provider = _provider(kind, name)
    return [
        (each, slot)
        for each, slot in zip(family, slots, strict=True)
        if not slot.value or _provider(each, name) is provider
    ]


@functools.lru_cache(maxsize=16)
def _slots(place: int, kinds: tuple[int, ...]) -> list[ctypes.c_void_p]:
    """By the ids of classes. One that Python made has its slots within; others are never freed."""
    methods = (ctypes.c_void_p.from_address(kind + _AS_SEQUENCE).value for kind in kinds)
    nowhere = ctypes.c_void_p()
    return [
        ctypes.c_void_p.from_address(each + place * _POINTER) if each else nowhere
        for each in methods
    ]


def _provider(kind: type, name: str) -> type | None:
    return next((base for base in kind.__mro__ if name in vars(base)), None)


@functools.cache
def _verify(number: int, place: int) -> None:
    """Raise TypeError unless sequence slots are where CPython has them: filled ones and empty."""
    for kind in (list, type("Filled", (list,), {}), type("Empty", (), {})):
        if [slot.value for slot in _slots(place, (id(kind),))] != [_get_slot(kind, number)]:
            raise TypeError(f"the slots of {kind.__name__} are not where CPython has them")
