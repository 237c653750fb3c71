"""Evidence that a value of unknown place is on the device already: moving it copies nothing.

Without such evidence, what a step moves is taken to be in host memory, as its batches mostly are.
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from asyncguard.lint.contexts.frame import Frame, evaluate
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.reasons import MEDIUM, Provenance
from asyncguard.lint.domain.values import CALLABLE, DEVICE, UNKNOWN_VALUE, Place, Role, Value
from asyncguard.lint.interpret.lookup import is_likely_array
from asyncguard.lint.interpret.types import instance_of
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted


def is_there_already(frame: Frame, owner: cst.BaseExpression, arguments: Arguments) -> bool:
    """Whether what is moved most likely is where it goes already."""
    return (
        _made_of_values(frame, owner)
        or any(_is_where_one_is(frame, argument) for argument in arguments)
        or _OUTPUT(_root(owner))
        or _is_set_again(frame.function, owner)
        or _is_given_after_moving(frame, owner)
    )


def _made_of_values(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression calls something with device values: what comes out mostly is one.

    Not so of what makes one array of several, which computes nothing.
    """
    if type(node) is not cst.Call:
        return False
    with frame.speculation():
        if evaluate(frame, node.func).name in frame.analysis.knowledge.joins:
            return False
        return any(evaluate(frame, argument.value).kind == DEVICE for argument in node.args)


def _is_where_one_is(frame: Frame, argument: Argument) -> bool:
    """Whether an argument is where another value is: what goes there mostly is there already.

    Not so `next(model.parameters()).device`: what a model is given goes to where that is.
    """
    node = argument.node
    if argument.value.role is Role.DEVICE_OF_ARGUMENT:
        return True
    if type(node) is not cst.Attribute or node.attr.value != "device":
        return False
    if type(node.value) is cst.Call and dotted(node.value.func) == "next":
        return False
    with frame.speculation():
        other = evaluate(frame, node.value)
    other = UNKNOWN_VALUE if other.is_none else other  # by now it is something else
    return other.kind == DEVICE or is_likely_array(frame, node.value, other)


_OUTPUT = family("value.output")


def _root(node: Any) -> str:
    """Return the variable of which this is a part, or what a method makes of it; "" if of none."""
    while type(node) in (cst.Subscript, cst.Attribute, cst.Call):
        node = node.func if type(node) is cst.Call else node.value
    return node.value if type(node) is cst.Name else ""


def _is_set_again(function: FunctionInfo, owner: cst.BaseExpression) -> bool:
    """Whether what is moved is kept on an object: `setattr(self, name, x)`; so it moves once."""
    if type(owner) is not cst.Name or function.unit is None:
        return False
    uses = function.unit.uses(function.node)
    kept = (n.args[2].value for n, _ in uses if type(n) is cst.Call and _sets(n))
    return any(dotted(value) == owner.value for value in kept)


def _sets(call: cst.Call) -> bool:
    return dotted(call.func) == "setattr" and len(call.args) == 3


_CRITERION = family("class.criterion")
_PIPELINE, _PIPES = family("role.pipeline"), family("function.pipes")


def _is_given_after_moving(frame: Frame, owner: cst.BaseExpression) -> bool:
    """Whether this is of what is called when a batch has been moved, and not its object's own.

    A loss is called with what a model gave for the batch; what a class makes of a pipeline, other
    than what it does on the host, is called by the pipeline, which moves the inputs; and loaders
    that a class has prepared move their batches.
    """
    function = frame.function
    if function.cls is None or _root(owner) in ("", "self"):
        return False
    known = [cls.name for cls in function.cls.family()]
    piped = any(map(_PIPELINE, known[1:])) and not _PIPES(function.name)
    return piped or any(map(_CRITERION, known)) or _has_its_loaders_prepared(frame)


def _has_its_loaders_prepared(frame: Frame) -> bool:
    """Whether a method of the class has loaders prepared: `self.accelerator.prepare(loader)`."""
    cls = frame.function.cls
    if cls is None or not frame.analysis.places_batches:
        return False
    names = "|".join(sorted(frame.analysis.knowledge.language.places_loaders))
    prepares = re.compile(rf"\.(?:{names})\(")
    methods = (method for known in cls.family() for method in known.methods.values())
    return any(prepares.search(method.text) for method in methods)


def is_there(frame: Frame, value: Value | None) -> bool:
    """Whether an argument is, or holds, an array that is on the device for sure.

    It was moved, or a model or an operation made it. Of what is no more than declared as an array,
    or comes of that, a model's own arguments are there: they have been moved.
    """
    held = first_device(value) if value is not None else UNKNOWN_VALUE
    if held.kind != DEVICE or held.place is not Place.DEVICE or held.confidence < MEDIUM:
        return False
    if held.params:
        cls = frame.function.cls
        return cls is not None and instance_of(cls).kind in CALLABLE
    made = held.role is Role.MODEL_OUTPUT or held.why.family != ""
    return made or held.why.kind is Provenance.MOVED
