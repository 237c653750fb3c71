"""What a method call tells of the value that it is called on."""

from __future__ import annotations

from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import FunctionInfo, class_of, each_instance
from asyncguard.lint.domain.reasons import MEDIUM, Provenance
from asyncguard.lint.domain.values import (
    CALLABLE,
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    MODEL,
    UNKNOWN,
    Place,
    Role,
    Value,
    confirmed,
    device,
    unplaced,
)
from asyncguard.lint.interpret.arguments import conditions_hold
from asyncguard.lint.interpret.arrays import likely_framework
from asyncguard.lint.interpret.types import instance_of
from asyncguard.model import SyncKind


class Receiver(NamedTuple):
    """What a method is called on, with all that the call tells of it."""

    value: Value
    is_parameter: bool  # of unknown kind: whatever the callers pass


def each_of(owner: Value, method: str) -> list[Value]:
    """Return an instance of each class that `owner` may be of, by whose method a call may run."""
    own: dict[FunctionInfo | None, Value] = {}
    for one in each_instance(owner):
        own.setdefault(class_of(one).lookup(method), one)
    return list(own.values())


def receiver_of(frame: Frame, owner: Value, method: str, arguments: Arguments) -> Receiver:
    """Return what a method is called on, by what is known of it and by the method's name."""
    proof = frame.analysis.knowledge.by_usage(method, frame.analysis.frameworks)
    is_parameter = owner.kind == UNKNOWN and bool(owner.params)
    if is_parameter:
        owner = _parameter(frame, owner, method, arguments, proof)
    if owner.kind == DEVICE and owner.confidence < MEDIUM and _tells(frame, method, arguments):
        owner = confirmed(owner, frame.called(method))
    if owner.kind == DEVICE and _is_of_models(frame, owner, method):
        owner = Value(MODEL, owner.framework, frame.called(method))
    if owner.kind == MODEL and proof == (MODEL, owner.framework):
        owner = confirmed(owner, frame.called(method))
    elif owner.kind == UNKNOWN and proof is not None and proof[0] == MODEL:
        # One of several: `models[name].train_on_batch(x, y)`.
        return Receiver(Value(*proof, frame.called(method)), False)
    return Receiver(owner, is_parameter)


def _parameter(
    frame: Frame,
    owner: Value,
    method: str,
    arguments: Arguments,
    proof: tuple[str, str] | None,
) -> Value:
    """Return an argument of unknown kind as the array that the method makes of it, if it does."""
    if proof is not None and proof[0] == DEVICE:
        return unplaced(proof[1], frame.called(method), owner.params)  # whatever is passed for it
    if framework := _copied_by(frame, method, arguments):
        return device(framework, frame.called(method), owner.params)
    if framework := likely_framework(frame, method):
        return unplaced(framework, frame.called(method, Provenance.NAME), owner.params)
    return owner


def may_be_moved(
    frame: Frame, owner: Value, node: cst.BaseExpression, arguments: Arguments
) -> bool:
    """Whether `x.to(device)` would move it: it may be in host memory still."""
    if owner.kind == UNKNOWN and owner.params:
        return True
    doubtful = owner.kind == DEVICE and owner.confidence <= MEDIUM
    if doubtful and _is_as_given(frame, node) and owner.params:
        return True
    if owner.kind == CONTAINER and first_device(owner).kind != DEVICE:
        return True  # of a class of its own
    if any(argument.value.role == Role.DEVICE_OF_ARGUMENT for argument in arguments):
        return False  # where it mostly is as well
    return owner.place is Place.EITHER or _is_handed(frame, owner, node)


def _is_handed(frame: Frame, owner: Value, node: Any) -> bool:
    """Whether this is an argument declared as an array, or a part of it, of what is no model.

    It may come from anywhere.
    """
    function = frame.function
    while type(node) is not cst.Name:
        if type(node) is cst.Call and type(node.func) is cst.Attribute:
            if node.func.attr.value not in frame.analysis.knowledge.whole:
                return False
            node = node.func
        elif type(node) is not cst.Subscript:
            return False
        node = node.value
    index = owner.params.only
    if owner.kind != DEVICE or index < 0:
        return False
    named = index < len(function.parameters) and function.parameters[index].name == node.value
    model = function.cls is not None and instance_of(function.cls).kind in CALLABLE
    return named and not model


_KEYED = frozenset({"get", "pop"})


def _is_as_given(frame: Frame, node: Any) -> bool:
    """Whether an expression is a variable, or a named part of one: `batch["x"].float()`."""
    while type(node) in (cst.Subscript, cst.Call):
        if type(node) is cst.Call:
            if type(node.func) is not cst.Attribute:
                return False
            keyed = bool(node.args) and type(node.args[0].value) is cst.SimpleString
            if node.func.attr.value not in (_KEYED if keyed else frame.analysis.knowledge.whole):
                return False
            node = node.func.value
            continue
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if type(index) is not cst.Index:
            return False
        if type(index.value) not in (cst.SimpleString, cst.Integer):
            return False
        node = node.value
    return type(node) is cst.Name


def _tells(frame: Frame, method: str, arguments: Arguments) -> bool:
    """Whether what this method is called on is a device value, if there is reason to think so."""
    proof = frame.analysis.knowledge.by_usage(method, frame.analysis.frameworks)
    likely = frame.trains and bool(likely_framework(frame, method))
    proved = proof is not None and proof[0] == DEVICE
    return likely or proved or bool(_copied_by(frame, method, arguments))


def _copied_by(frame: Frame, method: str, arguments: Arguments) -> str:
    """Return the framework that `x.to("cpu")` is of: a host's value is not asked so."""
    for point in frame.analysis.knowledge.sync_methods.get((DEVICE, method), ()):
        asked = point.framework in frame.analysis.frameworks and point.when is not None
        if asked and point.kind == SyncKind.ARRAY and conditions_hold(frame, point, arguments):
            return point.framework
    return ""


def _is_of_models(frame: Frame, owner: Value, method: str) -> bool:
    """Whether what has such a method is a model, whatever made it: no array predicts."""
    knowledge = frame.analysis.knowledge
    known = knowledge.methods.get(owner.framework, {}).get(method)
    kind = knowledge.model_methods.get(owner.framework, {}).get(method)
    return kind in (HOST, HOST_ARRAY) and known is None
