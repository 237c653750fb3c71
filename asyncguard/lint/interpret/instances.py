"""Methods of instances: those of checked classes, and what these have from elsewhere."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.effects import note_call_by_name
from asyncguard.lint.contexts.frame import Frame, call_value
from asyncguard.lint.contexts.priors import prior_for
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo, class_of, function_of
from asyncguard.lint.domain.handed import Handed
from asyncguard.lint.domain.reasons import HIGH, MEDIUM
from asyncguard.lint.domain.values import (
    CALLABLE,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    INSTANCE,
    MODEL,
    SUPER,
    UNKNOWN,
    UNKNOWN_VALUE,
    Value,
    container,
    device,
)
from asyncguard.lint.interpret.arguments import handed
from asyncguard.lint.interpret.arrays import method_sites
from asyncguard.lint.interpret.lookup import attribute_of
from asyncguard.lint.interpret.masks import NOTHING
from asyncguard.lint.interpret.models import METRIC, model_method
from asyncguard.lint.interpret.opaque import acted, called_itself, of_parameters
from asyncguard.lint.interpret.types import instance_of
from asyncguard.lint.syntax.tree import dotted


def instance_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a checked class's instance, else one of what it inherits from."""
    if owner.ref is None:
        return UNKNOWN_VALUE
    cls = class_of(owner)
    if method in frame.analysis.knowledge.registers.get(owner.framework, NOTHING):
        _register(frame, owner, arguments)
    attribute = attribute_of(frame, owner, method) if owner.kind != SUPER else UNKNOWN_VALUE
    _note_overriding(frame, node, owner, method, attribute, handed(frame, arguments))
    if owner.kind == SUPER:
        attribute = _inherited(cls, method) or attribute
    if attribute.kind != UNKNOWN and not _is_left_open(frame, attribute):
        return call_value(frame, node, _unbound(attribute), arguments)
    if attribute.kind == UNKNOWN and _keeps_module(frame, owner, method):
        return owner
    if owner.kind in CALLABLE and attribute.kind != FUNCTION:
        return _method_of_model(frame, node, owner, method, arguments)
    made = _foreign_method(frame, node, owner, method, arguments)
    declares = made.kind == UNKNOWN and attribute.kind == FUNCTION
    return _declared_by(frame, function_of(attribute)) if declares else made


def _method_of_model(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call what a checked model has from its framework, or a part that others make of it.

    `self.model(x)` runs a model by its name, wherever it was made.
    """
    part = prior_for(frame, dotted(node.func))
    if part.kind == MODEL:
        return call_value(frame, node, part, arguments)
    method_sites(frame, node, owner, method, arguments)
    return model_method(frame, node, owner, method, arguments)


def _is_left_open(frame: Frame, attribute: Value) -> bool:
    """Whether a method leaves it to subclasses what it does."""
    return attribute.kind == FUNCTION and frame.analysis.is_abstract(function_of(attribute))


def _unbound(method: Value) -> Value:
    """Return what is called; a static method is handed no instance."""
    static = method.kind == FUNCTION and function_of(method).is_static
    return method._replace(element=None) if static else method


def _declared_by(frame: Frame, info: FunctionInfo) -> Value:
    """Return the arrays that a method gives that leaves to subclasses how, as it declares."""
    result = frame.analysis.summary_for(info).result
    return result if result.kind in (DEVICE, CONTAINER) else UNKNOWN_VALUE


def _keeps_module(frame: Frame, owner: Value, method: str) -> bool:
    """Whether a method gives back the metric that it is called on: `metric.to(device)`."""
    kinds = frame.analysis.knowledge.model_methods.get(owner.framework, {})
    return owner.kind == METRIC and kinds.get(method) == MODEL


def _foreign_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method that an instance has from elsewhere."""
    path = dotted(node.func)
    hinted = prior_for(frame, path) if path else UNKNOWN_VALUE
    if hinted.kind != UNKNOWN:
        return call_value(frame, node, hinted, arguments)
    method_sites(frame, node, owner, method, arguments)
    return acted(frame, method, arguments, of_parameters(frame, method, arguments))


def _note_overriding(
    frame: Frame, node: cst.Call, owner: Value, method: str, attribute: Value, given: Handed
) -> None:
    """Note the call for other classes that may define the method: subclasses first of all."""
    cls = class_of(owner)
    if attribute.kind == FUNCTION and attribute.element is owner:
        note_call_by_name(frame, f"{cls.name}.{method}", given)
        told = owner.confidence >= MEDIUM
        if dotted(node.func.value) != "self" and not told:  # type: ignore[attr-defined]
            note_call_by_name(frame, method, given)  # of another class, maybe
        if owner.confidence != HIGH and frame.analysis.is_abstract(function_of(attribute)):
            note_call_by_name(frame, f".{method}", given)
    elif attribute.kind in (UNKNOWN, HOST):  # `decode: Callable | None = None`
        if owner.kind == INSTANCE:  # a subclass's own
            note_call_by_name(frame, f"{cls.name}.{method}", given)
        if name := cls.passed_as(method):
            note_call_by_name(frame, name, given)
        called_itself(frame, method, given)


def _inherited(cls: ClassInfo, method: str) -> Value | None:
    """Return a method that a class inherits from checked code, bound to its instance."""
    bases = [base.ref for base in cls.bases if isinstance(base.ref, ClassInfo)]
    found = [info for base in bases if (info := base.lookup(method)) is not None]
    return Value(FUNCTION, ref=found[-1], element=instance_of(cls)) if found else None


def _register(frame: Frame, owner: Value, arguments: Arguments) -> None:
    """`register_buffer("scale", scale)` makes an attribute that moves with its model.

    `add_state("seen", default=[])` makes a list of such.
    """
    named = next((a for a in arguments if a.keyword in ("", "name")), None)
    name = named.value.literal if named is not None else None
    if isinstance(name, str) and frame.given is not None:
        listed = any(a.value.kind == CONTAINER for a in arguments)
        registered = device(owner.framework)
        frame.given[name] = container(registered) if listed else registered
