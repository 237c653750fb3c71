"""Which of its arguments a blocking call reads or uploads."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from asyncguard.catalogue import Source, SyncPoint, Trigger
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence, together
from asyncguard.lint.domain.reasons import MEDIUM, Doubt, Provenance
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    NUMBERS,
    UNKNOWN,
    UNKNOWN_VALUE,
    Place,
    Role,
    Value,
    confirmed,
    derived,
    device,
    doubted,
    from_params,
)
from asyncguard.lint.interpret.arguments import selected_arguments
from asyncguard.lint.interpret.protocols import protocol_site
from asyncguard.lint.knowledge import Knowledge
from asyncguard.model import Confidence, SyncKind


def _is_uploaded(value: Value, *, typed: bool) -> bool:
    """Whether a value is in host memory still, as far as is known of it."""
    held = first_device(value)
    if held.kind == CONTAINER:
        return held.element is not None or held.items is not None
    doubtful = held.confidence < MEDIUM or held.place is Place.EITHER
    unknown = held.kind == UNKNOWN or (held.kind == DEVICE and doubtful)
    return held.kind in (HOST, HOST_ARRAY) or (typed and unknown)


def _is_empty(argument: Argument) -> bool:
    """Whether an argument is written as an empty list: there is nothing to copy."""
    node = argument.node
    return isinstance(node, (cst.List, cst.Tuple)) and not node.elements


def takes_device_values(
    point: SyncPoint, wanted: tuple[int | str, ...], arguments: Arguments
) -> bool:
    """Whether a method is given what it waits for: device values to read, or lists to upload."""
    given = [a.value for a in selected_arguments(wanted, arguments) if not a.stars]
    if point.kind == SyncKind.UPLOAD:
        return any(value.kind in UPLOADED_KINDS for value in given)
    return any(may_be_read(first_device(value)) for value in given)


UPLOADED_KINDS = frozenset({CONTAINER, HOST_ARRAY})


def number_read(wanted: tuple[int | str, ...], arguments: Arguments) -> Value | None:
    """Return the surest device value that is given where a number or a size is expected."""
    chosen = selected_arguments(wanted, arguments)
    given = [held_unknown(first_device(a.value)) for a in chosen if not a.stars]
    numbers = [as_number(value) for value in given if may_be_read(value)]
    if not numbers:
        return declared_number(chosen)
    return max(numbers, key=lambda value: (value.kind == DEVICE, value.confidence))


def declared_number(given: Sequence[Argument]) -> Value | None:
    """Return what callers hand for the sizes among these that a function declares as numbers."""
    parts = (part for a in given if not a.stars for part in (a.value, *(a.value.items or ())))
    handed = [value for value in map(as_handed, parts) if may_be_read(value)]
    return surest(handed)


def surest(values: Sequence[Value]) -> Value | None:
    """Return the first sure device value among some that may be read; else the first of all.

    Unknown ones are one together: it depends on what callers hand for any of them.
    """
    for value in values:
        if value.kind == DEVICE and value.confidence >= MEDIUM:
            return value
    if not values or values[0].kind == DEVICE:
        return values[0] if values else None
    return from_params(values[0], together(v.params for v in values if v.kind == UNKNOWN))


def as_number(value: Value) -> Value:
    """Return what is given for a number: where little tells of an array, it is a plain one."""
    return doubted(value, Doubt.MAY_BE_HOST) if value.role in _MAYBE_NUMBERS else value


_MAYBE_NUMBERS = frozenset({Role.UNPLACED, Role.NAME_INFERRED, Role.MODEL_OUTPUT})


def may_be_read(value: Value) -> bool:
    return value.kind == DEVICE or (value.kind == UNKNOWN and bool(value.params))


def as_handed(value: Value) -> Value:
    """Return a size, of which a function says that it is a number, as what callers hand for it."""
    declared = value.kind == HOST and value.name in NUMBERS and bool(value.params)
    return from_params(UNKNOWN_VALUE, value.params) if declared else value


def is_uploaded_already(point: SyncPoint, arguments: Arguments) -> bool:
    """Whether an upload is of what is on the device already: `torch.as_tensor(x, device=...)`.

    Or of nothing: `torch.tensor([], device=...)`.
    """
    if point.kind == SyncKind.UPLOAD and arguments and _is_empty(arguments[0]):
        return True
    given = arguments[0].value if arguments else UNKNOWN_VALUE
    moves = point.when is not None and "device" in point.when.keyword_present
    sure = given.confidence >= MEDIUM and given.place is not Place.EITHER
    return moves and given.kind == DEVICE and sure


def blocking_value(frame: Frame, point: SyncPoint, arguments: Arguments) -> Value | None:
    """Return the device value that the call reads; a barrier reads none in particular.

    What a framework's function works on is an array of the framework, if anything is: its first
    argument, where that is read.
    """
    source = point.source
    waiting = device(point.framework, params=_where_arguments_are(point, arguments))
    if source is None or not source.arguments:
        return _saved(point, arguments) if _saves(point) else waiting
    if point.kind == SyncKind.UPLOAD and source.functions:
        return waiting if _uploads(point, arguments) else None
    return _value_read(frame, point, source, arguments)


def _value_read(
    frame: Frame, point: SyncPoint, source: Source, arguments: Arguments
) -> Value | None:
    """Return the first of the arguments that a call reads which is on the device, or may be."""
    chosen = selected_arguments(source.arguments, arguments)
    if source.elements:
        return listed_value(chosen[0].value) if chosen else None
    for argument in chosen:
        value = held_unknown(first_device(argument.value))
        is_first = 0 in source.arguments and argument is arguments[0]
        if source.functions and is_first and value.kind in (DEVICE, UNKNOWN):
            return _worked_on(frame, point, value)
        if may_be_read(value):
            is_number = point.kind == SyncKind.SCALAR and not is_first
            return as_number(value) if is_number else value
    return declared_number(chosen) if point.kind == SyncKind.SCALAR else None


def listed_value(value: Value) -> Value | None:
    """Return the device value that a list holds, for sure: `[loss, loss / 2]`; else None."""
    held = first_device(value) if value.kind == CONTAINER else value
    listed = held is not value and held.kind == DEVICE and held.confidence >= MEDIUM
    return held if listed else None


def _saves(point: SyncPoint) -> bool:
    """Whether this is a function that saves what it is given, whatever that is."""
    kinds = (SyncKind.ARRAY, SyncKind.COMPOSITE)
    return bool(point.kind in kinds and point.source and point.source.functions)


def _saved(point: SyncPoint, arguments: Arguments) -> Value | None:
    """Return the device value that is saved: of a parameter, whatever callers hand for it."""
    if not arguments:
        return device(point.framework)
    given = [a.value for a in arguments if not isinstance(a.value.literal, str)]
    if given and (given[0].kind in (HOST, HOST_ARRAY) or given[0].role is Role.NO_ARRAY):
        return None
    if any(value.kind in (DEVICE, CONTAINER) for value in given):
        return device(point.framework)
    return device(point.framework, params=together(value.params for value in given))


def _uploads(point: SyncPoint, arguments: Arguments) -> bool:
    """Whether a function that uploads is given something in host memory.

    A sure entry uploads what it is given; the others what is given a type as well.
    """
    if point.source is None:
        return False
    typed = len(arguments) > 1 or point.confidence == Confidence.HIGH
    given = selected_arguments(point.source.arguments, arguments)
    if point.source.functions[0].endswith("Tensor"):  # a type, which is given data or sizes
        given = [argument for argument in given if argument.value.kind != HOST]
    return any(_is_uploaded(argument.value, typed=typed) for argument in given)


def _where_arguments_are(point: SyncPoint, arguments: Arguments) -> Dependence:
    """Return the parameters whose device an upload goes to: `torch.tensor(2, device=x.device)`."""
    if point.kind != SyncKind.UPLOAD:
        return INDEPENDENT
    placed = (a.value.params for a in arguments if a.value.role is Role.DEVICE_OF_ARGUMENT)
    return Dependence(unless_host=frozenset().union(*(p.on | p.unless_host for p in placed)))


def _worked_on(frame: Frame, point: SyncPoint, value: Value) -> Value:
    """Return the array that a framework's function works on."""
    takes = f"`{point.id}` takes arrays of {point.framework}"
    if value.kind == DEVICE:
        read = derived(value, DEVICE, point.framework)
        made = confirmed(read, frame.reason(Provenance.USAGE, takes))
    else:
        known = value.params or frame.trains
        why = frame.reason(Provenance.USAGE if known else Provenance.NAME, takes)
        made = device(point.framework, why)
    return from_params(made, value.params)


def held_unknown(value: Value) -> Value:
    """Return what a tuple or list of values of which nothing is known holds: such a value.

    It depends on all arguments among them: `(batch_size, longest)`.
    """
    if value.kind != CONTAINER:
        return value
    held = [*(value.items or ()), *([value.element] if value.element is not None else [])]
    unknown = [inner for inner in held if inner.kind == UNKNOWN]
    return from_params(unknown[0], together(v.params for v in unknown)) if unknown else value


def trigger_sites(frame: Frame, node: cst.Call, trigger: Trigger, arguments: Arguments) -> None:
    """Note a call that invokes a protocol of its arguments: one site a call, the surest."""
    chosen = selected_arguments(trigger.arguments, arguments)
    handed = together(a.value.params for a in chosen if a.value.kind == UNKNOWN)
    for argument in sorted(chosen, key=lambda argument: _doubtful(argument.value)):
        value = argument.value
        if value.kind == UNKNOWN and value.params:
            value = from_params(value, handed)  # it reads whichever callers hand on the device
        if trigger.traced and not frame.is_eager:
            value = doubted(first_device(value), Doubt.MAY_BE_HOST)
        if trigger.protocol == "__bool__" and value.kind == CONTAINER and value.element:
            value = _compared_first(value.element)
        if value.role == Role.ACTION and trigger.protocol == "__array__":
            value = _converted(frame, value)
        if trigger.protocol in ("__float__", "__int__", "__array__", "__index__", "__reduce_ex__"):
            value = first_device(value)
        listed = argument.value.kind == CONTAINER and trigger.protocol == "__array__"
        if _any_protocol(frame, trigger, node, value, listed=listed):
            return


def _doubtful(given: Value) -> int:
    """Return how far a device value is from being sure; anything else comes in its order."""
    held = first_device(given)
    return -held.confidence if held.kind == DEVICE else 0


def _compared_first(element: Value) -> Value:
    """Return what a comparison of two such elements asks first: of tuples, their first items."""
    while element.kind == CONTAINER and element.items:
        element = element.items[0]
    return element


def _converted(frame: Frame, given: Value) -> Value:
    """Return what a program turns into a host value: a device value where functions are pure.

    Elsewhere it is taken as it comes, as an action is: environments' are host values already.
    """
    framework = frame.analysis.knowledge.functional_of(frame.analysis.frameworks)
    if not framework:
        return given
    return device(framework, frame.by_name("what is converted here was computed by its name"))


# Where a framework has no entry of its own for a protocol, Python falls back to the next.
_FALLBACK = {"__format__": ("__repr__",), "__str__": ("__repr__",), "__repr__": ("__str__",)}


def _any_protocol(
    frame: Frame, trigger: Trigger, node: cst.Call, value: Value, *, listed: bool = False
) -> bool:
    among = trigger.frameworks
    known = frame.analysis.knowledge.frameworks.get(value.framework)
    if listed and among and known is not None and known.array_methods:
        among = (*among, value.framework)  # whose methods a list has not
    for protocol in (trigger.protocol, *_FALLBACK.get(trigger.protocol, ())):
        if protocol_site(frame, protocol, node, value, sink=trigger.sink, among=among):
            return True
    return False


def translate(knowledge: Knowledge, point: SyncPoint, framework: str) -> SyncPoint | None:
    """Return `point`, or what it is called in another framework, for a read by a helper."""
    if not framework or framework == point.framework or point.source is None:
        return point
    for protocol in point.source.protocols:
        if other := knowledge.sync_protocols.get((framework, protocol)):
            return other
    for method in point.source.methods:
        for candidate in knowledge.sync_methods.get((point.source.receiver, method), ()):
            if candidate.framework == framework:
                return candidate
    return None
