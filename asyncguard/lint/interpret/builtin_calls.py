"""What Python's own functions that pass values through return: `enumerate`, `zip`, `next`, ..."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import element_of, loop_element, wrapping
from asyncguard.lint.domain.definitions import ClassInfo
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.reasons import Provenance
from asyncguard.lint.domain.values import (
    CLASS,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INSTANCE,
    MODEL,
    SYMBOL,
    Role,
    Value,
    container,
    without_params,
)
from asyncguard.lint.interpret.lookup import attribute_of

if TYPE_CHECKING:
    from asyncguard.lint.domain.arguments import Argument


SAME_ELEMENTS = ("list", "tuple", "set", "sorted", "reversed", "iter", "frozenset",
                 "collections.deque", "itertools.islice", "itertools.cycle",
                 "itertools.chain", "copy.copy", "copy.deepcopy")  # fmt: skip


COLLECTIONS = ("collections.defaultdict", "collections.OrderedDict", "collections.Counter")


def builtin_result(frame: Frame, name: str, arguments: Sequence[Argument]) -> Value | None:
    """Return what the builtin `name` returns, or None when it is not one of these."""
    values = [a.value for a in arguments if not a.stars and not a.keyword]
    if name in ("dict", *COLLECTIONS) and not any(v.kind == CONTAINER for v in values):
        fields = tuple((a.keyword, a.value) for a in arguments if a.keyword)
        element = functools.reduce(join, (value for _, value in fields)) if fields else None
        return Value(CONTAINER, role=Role.DICT, element=element, fields=fields)
    if not values:
        return container(None) if name in ("list", "set", "tuple") else None
    values = [opened(frame, value) for value in values]
    first = values[0]
    if name in SAME_ELEMENTS:
        if first.kind in (CONTAINER, "loader") or name.startswith("copy"):
            return first
        return container(element_of(frame, first))
    if name in ("random.sample", "random.choices") and first.kind == CONTAINER:
        return container(element_of(frame, first))
    if name == "enumerate":
        return wrapping(first, container(None, (HOST_VALUE, loop_element(frame, first))))
    if name == "zip":
        return container(None, None) if len(values) > 12 else _zip(frame, values)
    if name == "functools.partial":
        return _with_arguments(first, arguments[1:])
    if name == "slice":
        return Value(HOST, role=Role.SLICE)
    if name == "range":
        return container(HOST_VALUE)
    if name == "next":
        return loop_element(frame, first)
    if name in ("abs", "round", "pow", "divmod"):
        return first if first.kind == DEVICE else None
    if name == "sum":
        element = element_of(frame, first)
        return element if element.kind in (DEVICE, HOST, HOST_ARRAY) else None
    if name in ("max", "min"):
        return _same(values) if len(values) > 1 else loop_element(frame, first)
    if name == "getattr" and len(values) > 2 and isinstance(values[2].literal, (bool, int, str)):
        return HOST_VALUE
    if name == "getattr" and len(values) > 1 and isinstance(values[1].literal, str):
        return attribute_of(frame, first, values[1].literal)
    return None


def _with_arguments(function: Value, given: Sequence[Argument]) -> Value | None:
    """Return a function that has some of its arguments already."""
    if function.kind == FUNCTION:
        items = tuple(without_params(a.value) for a in given if not a.keyword and not a.stars)
        fields = tuple((a.keyword, without_params(a.value)) for a in given if a.keyword)
        return function._replace(
            items=(*(function.items or ()), *items), fields=(*function.fields, *fields)
        )
    known = function.kind == MODEL or all(a.keyword for a in given)
    return function if known and function.kind in (MODEL, SYMBOL, CLASS) else None


def opened(frame: Frame, value: Value) -> Value:
    """Return what is gone over in a loop over `value`: what `__iter__` of a checked class gives.

    One that goes over batches itself is a loader.
    """
    method = value.ref.lookup("__iter__") if isinstance(value.ref, ClassInfo) else None
    if method is None or value.kind != INSTANCE:
        return value
    frame.call(method)
    summary = frame.analysis.summary_for(method)
    given = summary.result
    if given.kind == CONTAINER and given.ref is None and summary.step_loops:
        why = frame.reason(Provenance.USAGE, f"`{method.qualname}` goes over batches")
        return given._replace(ref=Value("loader", frame.analysis.frameworks[0], why))
    return given if given.kind in (CONTAINER, "loader") else value


def _zip(frame: Frame, values: list[Value]) -> Value:
    element = container(None, tuple(loop_element(frame, value) for value in values))
    for value in values:
        wrapped = wrapping(value, element)
        if wrapped.ref is not None:
            return wrapped
    return container(element)


def _same(values: list[Value]) -> Value | None:
    merged = values[0]
    for value in values[1:]:
        merged = join(merged, value)
    return merged if merged.kind in (DEVICE, HOST) else None
