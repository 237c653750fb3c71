"""Learn the kind of a variable from the functions that it is handed to: some take arrays alone.

What a framework hands a module's `forward` may be anything; `torch.cat([x, y])` takes tensors.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.homes import host_of
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.reasons import MEDIUM, Provenance
from asyncguard.lint.domain.values import DEVICE, UNKNOWN, Place, Value, confirmed, device
from asyncguard.lint.interpret.types import type_value
from asyncguard.lint.syntax.tree import dotted, walk


def learn_from_symbol(frame: Frame, name: str, arguments: Arguments) -> None:
    """Learn from the arguments of a framework's function: `torch.softmax(x)`."""
    if not arguments or arguments[0].keyword or arguments[0].stars:
        return
    first, knowledge = arguments[0], frame.analysis.knowledge
    if name in knowledge.joins and isinstance(first.node, (cst.List, cst.Tuple)):
        for element in first.node.elements:
            if type(element) is cst.Element:
                _learn(frame, element.value, f"`{name}` joins nothing else")
        _learn_of_joined(frame, name, first.node.elements, first.value.items or ())
    elif type(first.node) is cst.Name and _is_unsure(first.value) and knowledge.takes.find(name):
        _learn(frame, first.node, f"`{name}` takes nothing else")


def _learn_of_joined(
    frame: Frame,
    name: str,
    elements: Sequence[cst.BaseElement],
    values: tuple[Value, ...],
) -> None:
    """Learn that what is joined with a device value is on the device as well: `cat([x, y])`.

    Of a parameter, its callers tell.
    """
    there = next((v for v in values if v.place is Place.DEVICE and v.confidence >= MEDIUM), None)
    if there is None or there.params:
        return
    why = frame.reason(Provenance.USAGE, f"`{name}` joins it with a device value")
    for element in elements:
        path = dotted(_whole(element.value))
        known = frame.env.get(path) if path not in frame.function.parameter_names else None
        if known is not None and known.kind == UNKNOWN and "." not in path:
            frame.note(path, device(there.framework, why))


def _whole(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return what is cut or given axes as arrays alone are: `x` of `x[:, None]`."""
    while type(node) is cst.Subscript and len(node.slice) > 1:
        node = node.value
    return node


def learn_from_layer(frame: Frame, layer: Value, arguments: Arguments) -> None:
    """Learn from the arguments of a library's layer or loss: `self.linear(x)`."""
    if layer.why.kind is not Provenance.CATALOGUE or layer.doubt:
        return
    for argument in arguments if layer.kind == "criterion" else arguments[:1]:
        if not argument.stars:
            _learn(frame, argument.node, f"`{layer.why.family}` takes nothing else")


def learn_from_function(
    frame: Frame, info: FunctionInfo, arguments: Arguments, bound: dict[int, Value]
) -> None:
    """Learn from the arguments that a function of the checked code takes as arrays."""
    for argument in arguments:
        if type(argument.node) is not cst.Name or not _is_unsure(argument.value):
            continue
        for index, value in bound.items():
            if value is argument.value and _takes_array(info, index, value.framework):
                told = _learn(frame, argument.node, f"`{info.name}` takes nothing else")
                bound[index] = told or value


def _learn(frame: Frame, node: cst.BaseExpression, says: str) -> Value | None:
    """Note that a variable is an array, if it was likely one; return what it is."""
    known = frame.env.get(node.value) if type(node) is cst.Name else None
    if known is None or not _is_unsure(known):
        return None
    told = confirmed(known, frame.reason(Provenance.USAGE, says))
    frame.note(node.value, told)  # type: ignore[attr-defined]
    return told


def _is_unsure(value: Value) -> bool:
    """Whether a value is what a framework hands over, and as far as is known no dict or `None`."""
    return value.kind == DEVICE and value.why.kind is Provenance.ARGUMENT and not value.doubt


def _takes_array(info: FunctionInfo, index: int, framework: str) -> bool:
    """Whether a parameter is an array, by its declaration or by what the function does with it."""
    parameter = info.parameters[index] if index < len(info.parameters) else None
    if parameter is None or parameter.stars:
        return False
    if parameter.annotation is not None:
        if not dotted(parameter.annotation):
            return False  # of several types, mostly
        outer = host_of(info).frame
        with outer.speculation():
            declared = type_value(outer, parameter.annotation)
        return declared.kind == DEVICE and declared.framework == framework
    told = info.hints.get(parameter.name)
    return told == (DEVICE, framework) and not _is_made_anew(info, parameter.name)


def _is_made_anew(info: FunctionInfo, name: str) -> bool:
    """Whether a function gives a parameter another value: `x = torch.as_tensor(x)`."""
    targets = (node.target for node in walk(info.node) if type(node) is cst.AssignTarget)
    return any(type(target) is cst.Name and target.value == name for target in targets)
