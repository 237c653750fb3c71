"""What Python's own functions that pass values through return: `enumerate`, `zip`, `next`, ..."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from asyncguard.lint.contexts.effects import note_call
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import element_of, loop_element, wrapping
from asyncguard.lint.domain.definitions import ClassInfo, class_of, function_of
from asyncguard.lint.domain.entries import Entries
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.reasons import Provenance
from asyncguard.lint.domain.values import (
    ARRAYS,
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
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    symbol,
    with_role,
    without_params,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.interpret.lookup import attribute_of
from asyncguard.lint.interpret.types import NAMED_TUPLE, made_of

if TYPE_CHECKING:
    from asyncguard.lint.domain.arguments import Argument


_SAME_ELEMENTS = ("list", "tuple", "set", "sorted", "reversed", "iter", "frozenset",
                  "collections.deque", "itertools.islice", "itertools.cycle",
                  "itertools.chain", "copy.copy", "copy.deepcopy")  # fmt: skip
_DICTS = frozenset(
    {"dict", "collections.defaultdict", "collections.OrderedDict", "collections.Counter"}
)
_EMPTY = frozenset({"list", "set", "tuple", "frozenset"})


def builtin_result(frame: Frame, name: str, arguments: Sequence[Argument]) -> Value | None:
    """Return what the builtin `name` returns, or None when it is not one of these."""
    values = [a.value for a in arguments if not a.stars and not a.keyword]
    if name in _DICTS and not any(v.kind == CONTAINER for v in values):
        made = _made_dict(arguments)
        entry = _made_by_default(frame, values) if name == "collections.defaultdict" else None
        return made if entry is None else made._replace(element=entry)
    if name == "slice":
        return Value(HOST, role=Role.SLICE, items=tuple(values))
    if not values:
        return _collected(name, container(None)) if name in _EMPTY else None
    values = [opened(frame, value) for value in values]  # whatever is called may go over them
    if name == "functools.partial":
        return _with_arguments(values[0], arguments[1:])
    result = _RESULTS.get(name)
    return result(frame, name, values) if result is not None else None


def _made_dict(arguments: Sequence[Argument]) -> Value:
    given = [a for a in arguments if a.keyword]
    fields = Entries((a.keyword, a.value) for a in given)
    element = functools.reduce(join, (a.value for a in given)) if given else None
    return Value(CONTAINER, role=Role.DICT, element=element, fields=fields)


def _made_by_default(frame: Frame, given: list[Value]) -> Value | None:
    """Return the instance that a `defaultdict` makes for a new key; None if it makes none."""
    factory = given[0] if given else HOST_VALUE
    if factory.kind == CLASS:
        return made_of(class_of(factory), ())
    if factory.kind != FUNCTION:
        return None
    made = frame.analysis.summary_for(function_of(factory)).result
    return without_params(made) if isinstance(made.ref, ClassInfo) else None


def _same_elements(frame: Frame, name: str, values: list[Value]) -> Value:
    first = values[0]
    if first.kind in (CONTAINER, "loader") or name.startswith("copy"):
        return _collected(name, first)
    return _collected(name, container(element_of(frame, first)))


def _collected(name: str, held: Value) -> Value:
    """Return a collection as a function of that name makes it of what another holds."""
    if held.kind != CONTAINER:
        return held
    if name in ("set", "frozenset"):
        return held._replace(role=Role.SET, items=None)
    return held if held.role != Role.SET or name.startswith("copy") else with_role(held, Role.NONE)


def _sampled(frame: Frame, name: str, values: list[Value]) -> Value | None:
    return container(element_of(frame, values[0])) if values[0].kind == CONTAINER else None


def _enumerated(frame: Frame, name: str, values: list[Value]) -> Value:
    first = values[0]
    return wrapping(first, container(None, (HOST_VALUE, loop_element(frame, first))))


def _zipped(frame: Frame, name: str, values: list[Value]) -> Value:
    if len(values) > 12:
        return container(None, None)
    element = container(None, tuple(loop_element(frame, value) for value in values))
    for value in values:
        wrapped = wrapping(value, element)
        if wrapped.ref is not None:
            return wrapped
    return container(element)


def _device_only(frame: Frame, name: str, values: list[Value]) -> Value | None:
    return values[0] if values[0].kind == DEVICE else None


def _summed(frame: Frame, name: str, values: list[Value]) -> Value | None:
    element = element_of(frame, values[0])
    return element if element.kind in (DEVICE, HOST, HOST_ARRAY) else None


def _extreme(frame: Frame, name: str, values: list[Value]) -> Value | None:
    if len(values) == 1:
        return loop_element(frame, values[0])
    merged = functools.reduce(join, values)
    return merged if merged.kind in (DEVICE, HOST) else None


def _attribute(frame: Frame, name: str, values: list[Value]) -> Value | None:
    if len(values) > 2 and isinstance(values[2].literal, (bool, int, str)):
        return HOST_VALUE
    if len(values) > 2 and _is_added(frame, values[0], values[1].literal):
        return UNKNOWN_VALUE
    if len(values) > 1 and isinstance(values[1].literal, str):
        return attribute_of(frame, values[0], values[1].literal)
    if len(values) > 1 and values[1].name and isinstance(values[0].ref, ClassInfo):
        return _methods_named(values[0], values[1].name)
    if len(values) > 1 and values[1].kind == UNKNOWN and isinstance(values[0].ref, ClassInfo):
        return values[1]  # a method that a parameter names, which is called as the parameter is
    return None


def _is_added(frame: Frame, owner: Value, attr: object) -> bool:
    """Whether an attribute that a call takes for missing is none that every array has."""
    known = frame.analysis.knowledge.frameworks.get(owner.framework)
    if owner.kind not in ARRAYS or known is None:
        return False
    own = frame.analysis.knowledge.attributes.get(owner.framework, {})
    return attr not in known.array_attributes and attr not in own


def _methods_named(owner: Value, prefix: str) -> Value | None:
    """Return the methods of a class that a name may mean of which only the beginning is known.

    `getattr(self, f"on_{kind}")`: handlers.
    """
    classes = class_of(owner).family()
    methods = {n: m for cls in classes for n, m in cls.methods.items() if n.startswith(prefix)}
    found = [Value(FUNCTION, ref=info, element=owner) for info in methods.values()]
    return functools.reduce(join, found) if found else None


def _record(frame: Frame, name: str, values: list[Value]) -> Value | None:
    """Return a class of named tuples of whose fields only the names are known."""
    if len(values) < 2:
        return None
    listed = [item.literal for item in values[1].items or ()]
    names = listed or str(values[1].literal or "").replace(",", " ").split()
    title, bases = str(values[0].literal), (symbol(NAMED_TUPLE),)
    cls = ClassInfo(title, title, frame.analysis, lambda: bases)
    cls.annotations = {str(name): cst.Name("object") for name in names}
    return Value(CLASS, ref=cls)


_RESULTS: Mapping[str, Callable[[Frame, str, list[Value]], Value | None]] = {
    **dict.fromkeys(_SAME_ELEMENTS, _same_elements),
    **dict.fromkeys(("random.sample", "random.choices"), _sampled),
    **dict.fromkeys(("abs", "round", "pow", "divmod"), _device_only),
    **dict.fromkeys(("max", "min"), _extreme),
    "enumerate": _enumerated,
    "zip": _zipped,
    "range": lambda frame, name, values: container(HOST_VALUE),
    "next": lambda frame, name, values: loop_element(frame, values[0]),
    "sum": _summed,
    "getattr": _attribute,
    "collections.namedtuple": _record,
}


def _with_arguments(function: Value, given: Sequence[Argument]) -> Value | None:
    """Return a function that has some of its arguments already."""
    if function.kind == FUNCTION:
        items = tuple(without_params(a.value) for a in given if not a.keyword and not a.stars)
        fields = function.fields
        for a in given:
            if a.keyword:
                fields = fields.put(a.keyword, without_params(a.value))
        return function._replace(items=(*(function.items or ()), *items), fields=fields)
    known = function.kind == MODEL or all(a.keyword for a in given)
    return function if known and function.kind in (MODEL, SYMBOL, CLASS) else None


def opened(frame: Frame, value: Value) -> Value:
    """Return what is gone over in a loop over `value`: what `__iter__` of a checked class gives.

    One that goes over batches itself is a loader.
    """
    method = value.ref.lookup("__iter__") if isinstance(value.ref, ClassInfo) else None
    if method is None or value.kind != INSTANCE:
        return value
    note_call(frame, method)
    summary = frame.analysis.summary_for(method)
    given = summary.result
    if given.kind == CONTAINER and given.ref is None and summary.work & Work.CONTAINS_STEPS:
        why = frame.reason(Provenance.USAGE, f"`{method.qualname}` goes over batches")
        return given._replace(ref=Value("loader", frame.analysis.frameworks[0], why))
    return given if given.kind in (CONTAINER, "loader") else value
