"""Method calls: what is known of the receiver decides which rules apply."""

from __future__ import annotations

from typing import Any

import libcst as cst

from asyncguard.lint.contexts.frame import Frame, call_value
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import ClassInfo
from asyncguard.lint.domain.reasons import HIGH, MEDIUM, Provenance, Reason
from asyncguard.lint.domain.values import (
    CALLABLE,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INSTANCE,
    MODEL,
    SUPER,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    confirmed,
    derived,
    device,
    unplaced,
)
from asyncguard.lint.interpret.arguments import any_device, conditions_hold
from asyncguard.lint.interpret.arrays import (
    array_method,
    device_method,
    likely_framework,
    method_sites,
)
from asyncguard.lint.interpret.catalogued import call_symbol
from asyncguard.lint.interpret.functions import mark_compiled, run_given
from asyncguard.lint.interpret.lookup import attribute_of
from asyncguard.lint.interpret.models import model_method, note_step
from asyncguard.lint.interpret.opaque import acted, of_parameters, opaque
from asyncguard.lint.interpret.placement import NOTHING, unknown_upload
from asyncguard.lint.interpret.protocols import protocol_site
from asyncguard.lint.interpret.structures import container_method, passed_on
from asyncguard.lint.interpret.types import instance_of
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import SyncKind


def call_method(
    frame: Frame, node: cst.Call, owner: Value, func: cst.Attribute, arguments: Arguments
) -> Value:
    """Call `owner.method(...)`."""
    method = func.attr.value
    if owner.kind == SYMBOL:
        resolved = frame.analysis.resolve(f"{owner.name}.{method}")
        if resolved.kind != SYMBOL:
            return call_value(frame, node, resolved, arguments)
        return call_symbol(frame, node, resolved.name, arguments)
    note_step(frame, node, owner, method)
    if owner.kind == UNKNOWN:
        frame.call_by_name(method)
        if told := frame.analysis.knowledge.by_usage(method, ("numpy",)):
            owner = Value(*told, frame.called(method))
    is_parameter = owner.kind == UNKNOWN and bool(owner.params)
    doubtful = owner.kind == DEVICE and owner.confidence <= MEDIUM
    as_given = doubtful and _is_as_given(frame, func.value)
    moved = is_parameter or (as_given and bool(owner.params))
    moved |= owner.kind == CONTAINER and first_device(owner).kind != DEVICE  # of a class of its own
    to_another = Role.DEVICE_OF_ARGUMENT in [
        a.value.role for a in arguments
    ]  # where it mostly is as well
    if not to_another:
        moved |= owner.role == Role.UNPLACED or _is_handed(frame, owner, func.value)
    if moved and (up := unknown_upload(frame, node, func.value, method, arguments)):
        return (
            up
            if up.confidence >= owner.confidence
            else up._replace(why=owner.why, doubt=owner.doubt)
        )
    proof = frame.analysis.knowledge.by_usage(method, frame.analysis.frameworks)
    if is_parameter and proof is not None and proof[0] == DEVICE:
        owner = unplaced(proof[1], frame.called(method), owner.params)  # whatever is passed for it
    elif is_parameter and (framework := _copied_by(frame, method, arguments)):
        owner = device(framework, frame.called(method), owner.params)
    elif is_parameter and (framework := likely_framework(frame, method)):
        owner = unplaced(framework, frame.called(method, Provenance.NAME), owner.params)
    if owner.kind == DEVICE and owner.confidence < MEDIUM and _tells(frame, method, arguments):
        owner = confirmed(owner, frame.called(method))
    if owner.kind == DEVICE and _is_of_models(frame, owner, method):
        owner = Value(MODEL, owner.framework, frame.called(method))
    if owner.kind == MODEL and proof == (MODEL, owner.framework):
        owner = confirmed(owner, frame.called(method))
    elif owner.kind == UNKNOWN and proof is not None and proof[0] == MODEL:
        owner = Value(
            *proof, frame.called(method)
        )  # one of several: `models[name].train_on_batch(x, y)`
        is_parameter = False
    if owner.kind == DEVICE or is_parameter:
        if owner.kind == UNKNOWN and frame.loops and any_device(arguments):
            frame.loops[-1].ops = True  # of an object, whatever its class
        result = device_method(frame, node, owner, method, arguments)
        made = of_parameters(frame, method, arguments) if result.kind == UNKNOWN else result
        return made if made.kind == DEVICE else acted(frame, method, arguments, result)
    if owner.kind in (INSTANCE, SUPER) or isinstance(owner.ref, ClassInfo):
        return instance_method(frame, node, owner, method, arguments)
    method_sites(frame, node, owner, method, arguments)
    if owner.kind == HOST_ARRAY:
        return array_method(frame, owner, method, arguments)
    if owner.kind == CONTAINER:
        return container_method(frame, func, owner, method, arguments)
    if owner.kind in CALLABLE:
        return model_method(frame, node, owner, method, arguments)
    if method in frame.analysis.knowledge.passes.get(owner.framework, NOTHING) and arguments:
        return passed_on(owner, arguments[0].value)
    if owner.kind == HOST:
        if method == "format":
            for argument in arguments:
                protocol_site(frame, "__format__", argument.node, argument.value)
        return HOST_VALUE
    return unknown_method(frame, node, func, owner, method, arguments)


def _is_handed(frame: Frame, owner: Value, node: cst.BaseExpression) -> bool:
    """Whether this is an argument declared as an array, of what is no model: from anywhere."""
    function = frame.function
    while type(node) is cst.Call and type(node.func) is cst.Attribute:
        if node.func.attr.value not in frame.analysis.knowledge.whole:
            return False
        node = node.func.value
    if owner.kind != DEVICE or type(node) is not cst.Name or len(owner.params) != 1:
        return False
    index = next(iter(owner.params))
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


def instance_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a checked class's instance, else one of what it inherits from."""
    cls: ClassInfo | None = owner.ref
    if cls is None:
        return UNKNOWN_VALUE
    if method in frame.analysis.knowledge.registers.get(owner.framework, NOTHING):
        _register(frame, owner, arguments)
    attribute = attribute_of(frame, owner, method) if owner.kind != SUPER else UNKNOWN_VALUE
    if attribute.kind == FUNCTION and attribute.element is owner:
        frame.call_by_name(f"{cls.name}.{method}")  # a subclass may have its own
        if dotted(node.func.value) != "self":  # type: ignore[attr-defined]
            frame.call_by_name(method)  # so may another class, of which it may be as well
        if owner.confidence != HIGH and frame.analysis.is_abstract(attribute.ref):
            frame.call_by_name(f".{method}")
    elif attribute.kind == UNKNOWN and owner.kind == INSTANCE:  # a subclass's own
        frame.call_by_name(f"{cls.name}.{method}")
    if owner.kind == SUPER:
        for base in cls.bases:
            if isinstance(base.ref, ClassInfo) and (info := base.ref.lookup(method)):
                attribute = Value(FUNCTION, ref=info, element=instance_of(cls))
    if attribute.kind == FUNCTION and not frame.analysis.is_abstract(attribute.ref):
        if attribute.ref.is_static:
            attribute = attribute._replace(element=None)
        return call_value(frame, node, attribute, arguments)
    if attribute.kind not in (UNKNOWN, FUNCTION):
        return call_value(frame, node, attribute, arguments)
    if owner.kind in CALLABLE and attribute.kind != FUNCTION:
        method_sites(frame, node, owner, method, arguments)
        return model_method(frame, node, owner, method, arguments)
    path = dotted(node.func)
    hinted = frame.hint(path) if path else UNKNOWN_VALUE
    if hinted.kind != UNKNOWN:
        return call_value(frame, node, hinted, arguments)
    method_sites(frame, node, owner, method, arguments)
    return acted(frame, method, arguments, of_parameters(frame, method, arguments))


def _register(frame: Frame, owner: Value, arguments: Arguments) -> None:
    """`register_buffer("scale", scale)` makes an attribute that moves with its model."""
    name = arguments[0].value.literal if arguments else None
    if isinstance(name, str) and frame.given is not None:
        frame.given[name] = device(owner.framework)


def unknown_method(
    frame: Frame,
    node: cst.Call,
    func: cst.Attribute,
    owner: Value,
    method: str,
    arguments: Arguments,
) -> Value:
    """Call a method of something unknown: usage may still tell what it is or returns."""
    answer = opaque(frame, node, arguments)
    path = dotted(func)
    if path:
        hinted = frame.hint(path)
        if hinted.kind in CALLABLE:
            frame.evidence()
            output = derived(hinted, DEVICE, hinted.framework)
            return output if hinted.kind == "criterion" else output._replace(role=Role.MODEL_OUTPUT)
    knowledge = frame.analysis.knowledge
    if kind := knowledge.part(owner.framework, owner.kind, method):
        if owner.kind == "loader":
            mark_compiled(frame, arguments)  # what a data set maps is traced
        else:
            run_given(frame, arguments)
        return Value(kind, owner.framework, frame.called(method), Role.MODEL_OUTPUT)
    if owner.kind == "progress" and owner.element is not None:
        return UNKNOWN_VALUE
    if owner.kind in ("optimizer", "scheduler", "loader", "logger", "writer", "metric"):
        return UNKNOWN_VALUE
    if uploaded := unknown_upload(frame, node, func.value, method, arguments):
        return uploaded
    proof = knowledge.by_usage(method, frame.analysis.frameworks)
    sure = frame.trains or frame.analysis.is_alone or method in frame.analysis.knowledge.rare
    likely = likely_framework(frame, method) if sure else ""
    for framework in frame.analysis.frameworks:
        proved = proof == (DEVICE, framework)
        if proved or framework == likely:
            sure = proved or frame.trains
            why = frame.called(method, Provenance.USAGE if sure else Provenance.NAME)
            told = unplaced(framework, why)
            return device_method(frame, node, told, method, arguments)
        if knowledge.model_methods[framework].get(method) == HOST_ARRAY:
            return Value(
                HOST_ARRAY, framework, Reason(Provenance.GUESS)
            )  # if it is a model's; else most likely as well
    return acted(frame, method, arguments, answer)
