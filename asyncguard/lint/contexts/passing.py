"""Functions that are handed on: as arguments, by attributes, and by their names.

A call of a parameter or of an attribute is one of a name that holds in all of the program, and so
may mean whatever function anybody passes by it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.definitions import FunctionInfo, function_of
from asyncguard.lint.domain.hotness import ONCE
from asyncguard.lint.domain.reasons import MEDIUM
from asyncguard.lint.domain.values import DEVICE, FUNCTION, UNKNOWN, Value


def parameter_called(frame: Frame, index: int) -> str:
    """Return the name in all of the program of a parameter; a lambda has its function's."""
    while type(frame.function.node) is cst.Lambda and frame.parent is not None:
        frame = frame.parent
    known = frame.function.parameters
    return frame.function.parameter_name(known[index].name) if 0 <= index < len(known) else ""


def passes(frame: Frame, info: FunctionInfo, bound: Mapping[int, Value]) -> None:
    """Note the functions that a call passes, methods by their names too: `runner.call("step")`."""
    for index, value in bound.items():
        given = _function(value)
        if given is None and info.cls is not None and type(value.literal) is str:
            given = info.cls.lookup(value.literal)
        if given is not None and not frame.speculative:
            name = info.parameters[index].name
            frame.passed.add((info.parameter_name(name), given, frame.nest.context(), frame.line()))


def keeps(frame: Frame, path: str, value: Value) -> None:
    """Note a function that an attribute of `self` is given, which other classes may call."""
    owner, _, attribute = path.partition(".")
    cls, given = frame.function.cls, _function(value)
    if owner == "self" and cls and given is not None and not frame.speculative:
        for known in cls.family():
            frame.passed.add((f"{known.name}.{attribute}", given, ONCE, frame.line()))


def gives(
    frame: Frame, kept: Collection[int], bound: Mapping[int, Value]
) -> frozenset[tuple[int, int]]:
    """Return what a call gives of what its function keeps: as `Edge.gives` has it.

    The caller keeps those of its own parameters that it gives so.
    """
    found: set[tuple[int, int]] = set()
    for index in (i for i in kept if i in bound):
        held = first_device(bound[index])
        if held.kind == DEVICE and held.confidence >= MEDIUM:
            found.add((GIVEN, index))
        elif held.kind == UNKNOWN:
            frame.keeps |= held.params.on
            found.update((own, index) for own in held.params.on)
    return frozenset(found)


GIVEN = -1  # in the place of a parameter of the caller: a device value


def _function(value: Value) -> FunctionInfo | None:
    """Return the function that a value is, if it is one with a name."""
    info = function_of(value) if value.kind == FUNCTION else None
    return info if info is not None and type(info.node) is not cst.Lambda else None
