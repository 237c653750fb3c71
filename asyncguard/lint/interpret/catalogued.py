"""Calls of imported and builtin functions that the catalogue knows."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts import loops
from asyncguard.lint.contexts.frame import Frame, call_value
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.reasons import HIGH, LOW, MEDIUM, Doubt, Reason
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MODEL,
    SUPER,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    derived,
    device,
    doubted,
    from_params,
    unplaced,
)
from asyncguard.lint.interpret import builtin_calls
from asyncguard.lint.interpret.arguments import conditions_hold
from asyncguard.lint.interpret.functions import mark_compiled
from asyncguard.lint.interpret.opaque import computed_purely, of_parameters, opaque
from asyncguard.lint.interpret.placement import NOTHING, as_mask, first_host_array, placed
from asyncguard.lint.interpret.reads import blocking_value, is_uploaded_already, trigger_sites
from asyncguard.lint.interpret.structures import compared_by_key, leaf, mapped, mapped_structure
from asyncguard.lint.interpret.types import instance_of
from asyncguard.model import Loop, SyncKind


def call_symbol(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """Call something imported or builtin."""
    knowledge = frame.analysis.knowledge
    if name == "super":
        return Value(SUPER, ref=frame.function.cls)
    if "." in name and (cls := frame.analysis.called_class(frame, name)) is not None:
        return instance_of(cls)
    if "." in name and (function := frame.analysis.called_function(frame, name)) is not None:
        return call_value(frame, node, function, arguments)
    for point in knowledge.sync_functions.get(name, ()):
        if not conditions_hold(frame, point, arguments) or is_uploaded_already(point, arguments):
            continue
        if (value := blocking_value(frame, point, arguments)) is not None:
            if point.kind == SyncKind.ARRAY:
                frame.operation(point.framework)  # what it fetches was computed there
            frame.site(point, node, value, subject=node)
            break
    if knowledge.step_functions.find(name) and (frame.loops or not knowledge.compiled.find(name)):
        # What a transformation makes may be called later.
        asked = name not in knowledge.updating
        frame.evidence(strong=True, update=not asked, asked=asked)
    if name in knowledge.clocks:
        frame.event("clock", node)
    if name in knowledge.language.asks and frame.loops:
        frame.loops[-1].once = True
    if name == "next":
        loops.note_draw(frame, node)
    if trigger := knowledge.trigger(name):
        trigger_sites(frame, node, trigger, compared_by_key(frame, node, arguments))
    if len(arguments) > 1 and name == "map":
        return mapped(frame, node, arguments)
    if len(arguments) > 1 and name in knowledge.tree_maps:
        result = mapped_structure(frame, node, arguments)
        if result.kind != UNKNOWN or result.params:
            return result
    if special := builtin_calls.builtin_result(frame, name, arguments):
        return special
    if knowledge.compiled.find(name):
        mark_compiled(frame, arguments)
    result = symbol_result(frame, name, arguments)
    frame.prepares |= result.kind == "optimizer" and frame.context() == (Loop.NONE, False)
    if result.kind == DEVICE:
        frame.event("work", node, result.framework)
    elif result.kind == UNKNOWN and name not in knowledge.language.plain_functions:
        frame.call_by_name(name.rpartition(".")[2])
        opaque(frame, node, arguments)
        made = of_parameters(frame, name, arguments)
        imported = made.kind == UNKNOWN and "." in name
        return (computed_purely(frame, name, arguments) if imported else None) or made
    return result


def symbol_result(frame: Frame, name: str, arguments: Arguments) -> Value:
    """Return what the catalogue says that a call of `name` returns."""
    knowledge = frame.analysis.knowledge
    found = knowledge.returns.find(name) or knowledge.types.find(name)
    if found is not None and found == (HOST_ARRAY, "numpy"):
        last = name.rpartition(".")[2]
        for argument in arguments:
            value = first_device(argument.value)
            listed = argument.value.kind == CONTAINER or value.role == Role.NAME_INFERRED
            own = "" if listed else last  # a list has no such methods
            if value.kind == DEVICE and knowledge.dispatches(value.framework, own):
                frame.operation(value.framework)
                return from_params(derived(value, DEVICE, value.framework), value.params)
    if found is None:
        return HOST_VALUE if knowledge.framework_of(name) == "numpy" else UNKNOWN_VALUE
    kind, framework = found
    if kind == DEVICE and framework not in (
        *frame.analysis.frameworks,
        knowledge.framework_of(name),
    ):
        return UNKNOWN_VALUE  # of a library that other frameworks' arrays can be given to as well
    operands = [argument.value for argument in arguments]
    last = name.rpartition(".")[2]
    if kind == "device_or_host":
        return as_mask(frame, placed(frame, framework, arguments), last, operands, arguments)
    if name in knowledge.registers.get(framework, NOTHING):
        return device(framework)
    if kind == "leaves":  # what it makes of those of a tree is where they are
        if any(leaf(value).kind == HOST for value in operands[1:2]):
            return HOST_VALUE
        kind = DEVICE
    if kind == DEVICE:
        frame.operation(framework)
        uploads = knowledge.frameworks[framework].asynchronous_cpu
        made = _device_result(framework, frame.returned(name), arguments, uploads=uploads)
        moves = last in knowledge.keeps_masks.get(framework, NOTHING) and "_like" not in last
        if made.role == Role.UNPLACED and not moves:
            made = made._replace(role=Role.NONE)  # it computes, which is done on the device
        return as_mask(frame, made, last, operands, arguments)
    if kind == HOST_ARRAY:
        if name in knowledge.numbers and _gives_one(arguments, knowledge.numbers[name]):
            return doubted(
                HOST_VALUE, Doubt.INFERRED
            )  # an action, maybe, like one that a policy gives
        return as_mask(frame, Value(HOST_ARRAY, framework), last, operands, arguments)
    if kind == HOST and framework != "numpy" and arguments:  # a device, say
        place = arguments[0].value.literal
        return Value(HOST, literal=place if isinstance(place, str) else None)
    if kind == CONTAINER and any(argument.keyword for argument in arguments):
        return builtin_calls.builtin_result(frame, "dict", arguments) or UNKNOWN_VALUE
    if kind == "progress" and arguments:
        inner = builtin_calls.opened(frame, arguments[0].value)
        return derived(inner, kind, framework)._replace(element=inner)
    if kind in (MODEL, "criterion") and arguments:
        inner = arguments[0].value
        if knowledge.compiled.find(name) is not None:
            traced = inner.kind == FUNCTION and type(inner.ref.node) is not cst.Lambda
            asks = (
                inner.role == Role.GRADIENT_FUNCTION
                or knowledge.step_functions.find(name) is not None
            )
            asked = Role.GRADIENT_FUNCTION if asks else Role.NONE
            return Value(kind, framework, role=asked, ref=inner.ref if traced else None)
        if isinstance(inner.ref, FunctionInfo) or inner.kind == MODEL:
            return Value(
                kind, inner.framework or framework, ref=inner.ref if inner.kind == MODEL else None
            )
    return frame.analysis.named(kind, framework, frame.returned(name))


def _gives_one(arguments: Arguments, most: int) -> bool:
    """Whether a call gives a number: it asks for no size and no axis, by position either."""
    plain = sum(1 for argument in arguments if not argument.keyword)
    sized = any(a.keyword in ("size", "axis") for a in arguments)
    return plain <= most and not sized


def _device_result(framework: str, why: Reason, arguments: Arguments, *, uploads: bool) -> Value:
    """A device function of host tensors only stays there, unless it `uploads` them."""
    held = [first_device(argument.value) for argument in arguments]
    on_device = (v for v in held if v.kind == DEVICE and v.role != Role.UNPLACED)
    surest = max(on_device, key=lambda value: value.confidence, default=None)
    confidence = LOW if surest is None else surest.confidence
    arrays = [first_host_array(argument.value) for argument in arguments]
    on_host = any(array is not None and array.framework == framework for array in arrays)
    listed = bool(arguments) and arguments[0].value.kind == CONTAINER  # all are in one place
    if on_host and confidence < (HIGH if listed else MEDIUM) and not uploads:
        return Value(HOST_ARRAY, framework)  # what else it is given is no tensor on the device
    known = [value for value in held if value.kind == DEVICE]
    if known:
        made = doubted(device(framework, why), Doubt.INFERRED)
        if surest is not None and confidence >= MEDIUM:
            made = derived(surest, DEVICE, framework)
        told = all(value.role == Role.UNPLACED for value in known)
        return made._replace(role=Role.UNPLACED) if told else made
    unknown = held and all(value.kind in (UNKNOWN, CONTAINER, HOST) for value in held)
    if not unknown:
        return device(framework, why)
    made = unplaced(framework, why)
    return made if uploads else doubted(made, Doubt.INFERRED)
