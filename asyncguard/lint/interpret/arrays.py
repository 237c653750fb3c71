"""Methods of arrays, on the device and in host memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

import libcst as cst

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.contexts.effects import note_site
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.dependence import Dependence, together
from asyncguard.lint.domain.reasons import HIGH, Provenance, Reason
from asyncguard.lint.domain.values import (
    DEVICE,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MAY_BE_NUMBER,
    MODEL,
    ONE_NUMBER,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    confirmed,
    derived,
    from_params,
    no_surer,
)
from asyncguard.lint.interpret import copies
from asyncguard.lint.interpret.arguments import (
    argument_params,
    conditions_hold,
    selected_arguments,
)
from asyncguard.lint.interpret.masks import as_mask
from asyncguard.lint.interpret.placement import copied_to_host, moved_to, uploads
from asyncguard.lint.interpret.reads import (
    blocking_value,
    number_read,
    takes_device_values,
    trigger_sites,
)
from asyncguard.lint.interpret.structures import OF_MAPPINGS, mapping_method
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

    def read_by(point: SyncPoint) -> Value | None:
        if owner.framework and point.framework != owner.framework:
            return None
        if point.source is not None and point.source.fresh and not _is_fresh(frame, node):
            return None
        return _read_by(frame, point, owner, method, arguments)

    points = knowledge.sync_methods.get((owner.kind, method), ())
    if _note_wait(frame, node, owner, arguments, points, read_by):
        return
    for trigger in knowledge.trigger_methods.get(method, ()):
        if not trigger.receiver or trigger.receiver == owner.kind:
            trigger_sites(frame, node, trigger, arguments)
            return


def _note_wait(
    frame: Frame,
    node: cst.Call,
    owner: Value,
    arguments: Arguments,
    points: Iterable[SyncPoint],
    read_by: Callable[[SyncPoint], Value | None],
) -> bool:
    """Note that a method waits at the first of these points where it reads something, if at any.

    Of one that is told not to block, what is noted is the copy that it starts.
    """
    for point in points:
        promised = copies.is_promised(frame, point, arguments)
        if not promised and not conditions_hold(frame, point, arguments):
            continue
        if (read := read_by(point)) is None:
            continue
        if promised:
            copies.start(frame, point, node, owner, arguments, read, _called_on(node))
        else:
            note_site(frame, point, node, read, subject=_called_on(node))
        return True
    return False


def _is_fresh(frame: Frame, node: cst.Call) -> bool:
    """Whether what a method is called on was made in this round of the innermost loop, for sure."""
    owner = _called_on(node)
    path, loop = dotted(owner), frame.loops[-1].node if frame.loops else None
    for body, index in reversed(frame.blocks):
        for statement in body[:index]:
            small = statement.body if type(statement) is cst.SimpleStatementLine else ()
            assigned = (each.targets for each in small if type(each) is cst.Assign)
            if path and any(dotted(each.target) == path for each in chain.from_iterable(assigned)):
                return True
        if isinstance(loop, _LOOPS) and body is loop.body.body:
            break
    return type(owner) is cst.Call


_LOOPS = (cst.For, cst.While)


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
    if method in OF_MAPPINGS and owner.framework and not known:
        return mapping_method(owner, method)

    def read_by(point: SyncPoint) -> Value | None:
        if point.framework not in frameworks:
            return None
        uploads_host = point.kind == SyncKind.UPLOAD and _ON_HOST(dotted(_called_on(node)))
        return None if uploads_host else _waited_for(point, owner, arguments)

    _note_wait(frame, node, owner, arguments, points, read_by)
    made = device_method_result(frame, owner, method, arguments, frameworks)
    return copies.downloaded(frame, node, owner, method, arguments, made)


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
    if not takes_device_values(point, source.arguments, arguments):
        return None
    given = [argument.value for argument in selected_arguments(source.arguments, arguments)]
    if point.kind == SyncKind.UPLOAD or any(value.kind != UNKNOWN for value in given):
        return owner
    numbers = frozenset[int]().union(*(value.params.on for value in given))
    return from_params(owner, together([owner.params, Dependence(unless_plain=numbers)]))


_VIEWS = frozenset({"items", "keys", "values", "popitem"})
_ON_HOST = family("value.host")  # by its name


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
        if kind is None and method in OF_MAPPINGS:
            return UNKNOWN_VALUE  # of a dict, whatever its declaration says
        reduced = not arguments and method in frame.analysis.knowledge.reductions
        result = owner._replace(name=MAY_BE_NUMBER) if reduced else owner
        result = Value(kind) if kind else result
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
