"""Functions that are handed on: as arguments, by attributes, and by their names.

A call of a parameter or of an attribute is one of a name that holds in all of the program, and so
may mean whatever function anybody passes by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.definitions import FunctionInfo, classes_of, function_of
from asyncguard.lint.domain.dependence import GIVEN, TOLD
from asyncguard.lint.domain.hotness import ONCE
from asyncguard.lint.domain.reasons import MEDIUM
from asyncguard.lint.domain.values import CONTAINER, DEVICE, FUNCTION, INSTANCE, UNKNOWN, Value


def parameter_called(frame: Frame, index: int) -> str:
    """Return the name in all of the program of a parameter; a lambda has its function's."""
    while type(frame.function.node) is cst.Lambda and frame.parent is not None:
        frame = frame.parent
    known = frame.function.parameters
    return frame.function.parameter_name(known[index].name) if 0 <= index < len(known) else ""


def passes(frame: Frame, info: FunctionInfo, bound: Mapping[int, Value]) -> None:
    """Note the functions that a call passes, methods by their names too: `runner.call("step")`.

    Of a parameter that it hands on, its own callers pass them.
    """
    if frame.speculative:
        return
    for index, value in bound.items():
        given: list[FunctionInfo | str] = [*functions_in(value)]
        if not given and info.cls is not None and type(value.literal) is str:
            given += filter(None, [info.cls.lookup(value.literal)])
        if value.kind == UNKNOWN and (through := parameter_called(frame, value.params.only)):
            given.append(through)
        name = info.parameter_name(info.parameters[index].name)
        for each in given:
            frame.passed.add((name, each, frame.nest.context(), frame.line()))


def keeps(frame: Frame, path: str, value: Value) -> None:
    """Note a function that an attribute of `self` is given, which other classes may call."""
    owner, _, attribute = path.partition(".")
    cls = frame.function.cls
    if owner != "self" or cls is None or frame.speculative:
        return
    for given in functions_in(value):
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
        if isinstance(held.literal, bool):
            found.add((TOLD, index))
        elif held.kind == DEVICE and held.confidence >= MEDIUM:
            found.add((GIVEN, index))
        elif held.kind == UNKNOWN:
            frame.keeps |= held.params.on
            found.update((own, index) for own in held.params.on)
    return frozenset(found)


def functions_in(value: Value) -> Iterator[FunctionInfo]:
    """Yield the functions with a name that a value is or holds; an object has its `__call__`."""
    if value.kind == FUNCTION and type(function_of(value).node) is not cst.Lambda:
        yield function_of(value)
    elif value.kind == INSTANCE:
        yield from filter(None, (cls.lookup("__call__") for cls in classes_of(value)))
    elif value.kind == CONTAINER:
        fields = [each for _, each in value.fields]
        element = [] if value.element is None or fields or value.items else [value.element]
        for each in (*fields, *(value.items or ()), *element):
            yield from functions_in(each)
