"""Methods of arrays, on the device and in host memory."""

from __future__ import annotations

import libcst as cst

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.reasons import HIGH, Provenance, Reason
from asyncguard.lint.domain.values import (
    DEVICE,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MODEL,
    ONE_NUMBER,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    confirmed,
    derived,
    no_surer,
)
from asyncguard.lint.interpret.arguments import argument_params, conditions_hold
from asyncguard.lint.interpret.placement import as_mask, copied_to_host, moved_to, uploads
from asyncguard.lint.interpret.reads import (
    blocking_value,
    number_read,
    takes_device_values,
    trigger_sites,
)
from asyncguard.lint.interpret.structures import mapping_method
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import SyncKind


def method_sites(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> None:
    """Note the sites of a method call on a value of known kind."""
    knowledge = frame.analysis.knowledge
    if owner.kind == MODEL and owner.confidence < HIGH and frame.analysis.defines(method):
        return  # of one of these classes, maybe
    for point in knowledge.sync_methods.get((owner.kind, method), ()):
        if owner.framework and point.framework != owner.framework:
            continue
        if conditions_hold(frame, point, arguments):
            read = _read_by(frame, point, owner, method, arguments)
            if read is not None:
                frame.site(point, node, read, subject=_called_on(node))
                return
    for trigger in knowledge.trigger_methods.get(method, ()):
        if not trigger.receiver or trigger.receiver == owner.kind:
            trigger_sites(frame, node, trigger, arguments)
            return


def _called_on(node: cst.Call) -> cst.BaseExpression:
    """Return the expression that a method is called on."""
    return node.func.value if type(node.func) is cst.Attribute else node


def _read_by(
    frame: Frame, point: SyncPoint, owner: Value, method: str, arguments: Arguments
) -> Value | None:
    """Return the value that a method waits for; None if it does not wait for any."""
    given = blocking_value(frame, point, arguments)
    if given is None:
        return None
    read = derived(owner, DEVICE, point.framework)
    if owner.kind == HOST_ARRAY and point.kind == SyncKind.UPLOAD:
        if not uploads(frame, owner, method, arguments):
            return None
        read = confirmed(read, _moved(frame))
    return read if given.kind == DEVICE else given


def device_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a device value (or of a parameter that may hold one)."""
    knowledge = frame.analysis.knowledge
    frameworks = (owner.framework,) if owner.framework else frame.analysis.frameworks
    points = knowledge.sync_methods.get((DEVICE, method), ())
    if owner.kind == UNKNOWN and method in _VIEWS:
        return mapping_method(owner, method)
    known = any(point.framework == owner.framework for point in points)
    if method in _OF_MAPPINGS and owner.framework and not known:
        return mapping_method(owner, method)
    subject = _called_on(node)
    for point in points:
        if point.framework not in frameworks or not conditions_hold(frame, point, arguments):
            continue
        uploads_host = point.kind == SyncKind.UPLOAD and _ON_HOST(dotted(subject))
        read = _waited_for(point, owner, arguments) if not uploads_host else None
        if read is not None:
            frame.site(point, node, read, subject=subject)
            break
    return device_method_result(frame, owner, method, arguments, frameworks)


def _waited_for(point: SyncPoint, owner: Value, arguments: Arguments) -> Value | None:
    """Return the value that a method waits for: its owner, or a number that it is given.

    None if it waits for its arguments, and is given none of the kind.
    """
    source = point.source
    if source is None or source.functions or not source.arguments:
        return owner
    if point.kind == SyncKind.SCALAR:
        read = number_read(source.arguments, arguments)
        return read and no_surer(read, owner)
    return owner if takes_device_values(point, source.arguments, arguments) else None


_VIEWS = frozenset({"items", "keys", "values", "popitem"})
_ON_HOST = family("value.host")  # by its name
_OF_MAPPINGS = frozenset(
    {"items", "keys", "values", "get", "pop", "popitem", "update", "setdefault"}
)


def device_method_result(
    frame: Frame, owner: Value, method: str, arguments: Arguments, frameworks: tuple[str, ...]
) -> Value:
    """Return what a method of a device value returns."""
    for framework in frameworks:
        kind = frame.analysis.knowledge.methods[framework].get(method)
        if kind == HOST:
            return HOST_VALUE
        if kind == HOST_ARRAY:
            return copied_to_host(frame, owner, framework, method)
        if kind is not None and kind != DEVICE:
            return derived(owner, kind, framework)
        moved = moved_to(frame, arguments)
        if moved is not None and owner.kind == DEVICE:
            there = moved.kind == DEVICE
            kept = owner._replace(literal=None, items=None) if there else moved
            kept = kept if kept.framework else kept._replace(framework=framework)
            return as_mask(frame, kept, method, [owner], arguments)
    if owner.kind == UNKNOWN:
        return Value(params=owner.params | argument_params(arguments))
    frame.operation(owner.framework)
    reduced = not arguments and method in frame.analysis.knowledge.reductions
    made = owner._replace(literal=None, items=None, name=ONE_NUMBER if reduced else "")
    return as_mask(frame, made, method, [owner], arguments)


def array_method(frame: Frame, owner: Value, method: str, arguments: Arguments) -> Value:
    """Call a method of an array in host memory; `.to(device)` and `.cuda()` upload it."""
    if owner.framework in ("", "numpy"):
        kind = frame.analysis.knowledge.methods.get("numpy", {}).get(method)
        if kind is None and method in _OF_MAPPINGS:
            return UNKNOWN_VALUE  # of a dict, whatever its declaration says
        result = Value(kind) if kind else owner
        return as_mask(frame, result, method, [owner], arguments)
    kind = frame.analysis.knowledge.methods[owner.framework].get(method)
    if kind == HOST:
        return HOST_VALUE
    if kind == HOST_ARRAY:
        return copied_to_host(frame, owner, owner.framework, method)
    if uploads(frame, owner, method, arguments):
        frame.operation(owner.framework)
        moved = confirmed(derived(owner, DEVICE, owner.framework), _moved(frame))
        return moved._replace(role=Role.MASK if owner.role == Role.MASK else Role.NONE)
    in_place = method.endswith("_")  # such a one writes into its own array
    stays = in_place or method in frame.analysis.knowledge.shaped
    if not stays and any(a.value.kind == DEVICE for a in arguments):
        return derived(owner, DEVICE, owner.framework)
    return as_mask(frame, owner._replace(literal=None), method, [owner], arguments)


def _moved(frame: Frame) -> Reason:
    return frame.reason(Provenance.MOVED, "it is moved to a device")


def likely_framework(frame: Frame, method: str) -> str:
    """Return the framework whose values have this method, if it is more likely theirs."""
    analysis = frame.analysis
    tables = (analysis.knowledge.likely, analysis.knowledge.alone)[: 1 + analysis.is_alone]
    return next((f for f in analysis.frameworks for t in tables if t[f].get(method) == DEVICE), "")
