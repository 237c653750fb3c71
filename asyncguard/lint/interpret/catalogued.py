"""Calls of imported and builtin functions."""

from __future__ import annotations

from itertools import chain

import libcst as cst

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.contexts import loops
from asyncguard.lint.contexts.effects import note_call, note_call_by_name, note_event, note_site
from asyncguard.lint.contexts.frame import Frame, call_value
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.definitions import function_of
from asyncguard.lint.domain.hotness import ONCE
from asyncguard.lint.domain.reasons import Doubt, Provenance
from asyncguard.lint.domain.values import (
    DEVICE,
    EITHER,
    FUNCTION,
    HOST_VALUE,
    SUPER,
    UNKNOWN,
    Role,
    Value,
    doubted,
    with_role,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.interpret import builtin_calls, copies
from asyncguard.lint.interpret.arguments import conditions_hold, handed
from asyncguard.lint.interpret.functions import mark_compiled
from asyncguard.lint.interpret.learning import learn_from_symbol
from asyncguard.lint.interpret.memory import MADE, of_function
from asyncguard.lint.interpret.opaque import computed_purely, of_parameters, opaque
from asyncguard.lint.interpret.placement import handed_on_host, set_default
from asyncguard.lint.interpret.reads import blocking_value, is_uploaded_already, trigger_sites
from asyncguard.lint.interpret.regions import note_handed
from asyncguard.lint.interpret.results import symbol_result
from asyncguard.lint.interpret.structures import compared_by_key, grow, mapped, mapped_structure
from asyncguard.lint.interpret.types import made_of
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Loop, SyncKind


def call_symbol(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """Call something imported or builtin."""
    if name == "super":
        return Value(SUPER, ref=frame.function.cls)
    if "." in name and (cls := frame.analysis.called_class(frame, name)) is not None:
        return made_of(cls, arguments)
    if "." in name and (function := frame.analysis.called_function(frame, name)) is not None:
        return call_value(frame, node, function, arguments)
    copies.call_function(frame, node, name, arguments)
    _note_waits(frame, node, name, arguments)
    learn_from_symbol(frame, name, arguments)
    _note_work(frame, node, name)
    if arguments:
        set_default(frame, name, arguments[0].value)
    if name in frame.analysis.knowledge.language.repeats:
        _call_repeatedly(frame, name, arguments)
    if trigger := frame.analysis.knowledge.trigger(name):
        trigger_sites(frame, node, trigger, compared_by_key(frame, node, arguments))
    if name in frame.analysis.knowledge.language.adds and len(arguments) > 1:
        grow(frame, arguments[0].node, arguments[0].value, arguments[1].value)
    passed = _passed_through(frame, node, name, arguments)
    return passed if passed is not None else _returned(frame, node, name, arguments)


def _call_repeatedly(frame: Frame, name: str, arguments: Arguments) -> None:
    """Note that a function out of sight calls those that it is handed once in each of its steps."""
    given = (a.value.items if a.value.kind == EITHER else (a.value,) for a in arguments)
    for value in chain.from_iterable(values or () for values in given):
        call_repeatedly(frame, name, value)


def call_repeatedly(frame: Frame, name: str, handed_on: Value) -> None:
    """Note that something out of sight calls a function once in each of its steps."""
    info = function_of(handed_on) if handed_on.kind == FUNCTION else None
    edge = note_call(frame, info)
    if edge is not None and info is not None and type(info.node) is not cst.Lambda:
        edge.context = edge.context._replace(loop=Loop.STEP)
        edge.hot = frame.reason(Provenance.CATALOGUE, f"`{name}` calls it once a step", name)


def _note_waits(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    """Note the site of a call that the catalogue knows to wait."""
    for point in frame.analysis.knowledge.sync_functions.get(name, ()):
        if not conditions_hold(frame, point, arguments) or is_uploaded_already(point, arguments):
            continue
        if (value := blocking_value(frame, point, arguments)) is not None:
            if point.kind in (SyncKind.ARRAY, SyncKind.COMPOSITE):
                frame.operation(point.framework)  # what it fetches was computed there
            note_site(frame, point, node, value, subject=node)
            if point.source is not None and point.source.settles:
                _settle(frame, arguments)
            break
        if point.kind == SyncKind.UPLOAD and arguments:
            _note_handed(frame, node, point, arguments[0].value)


def _settle(frame: Frame, arguments: Arguments) -> None:
    """Note that variables were waited for: reads of them do not wait until they are bound anew."""
    for argument in arguments:
        path = dotted(argument.node)
        if path and argument.value.kind == DEVICE:
            frame.note(path, with_role(argument.value, Role.SETTLED))


def _note_handed(frame: Frame, node: cst.Call, point: SyncPoint, given: Value) -> None:
    """Note the upload of an argument, or a part of one, in calls that hand host memory for it."""
    if given.kind == UNKNOWN and given.params.only >= 0:
        note_site(frame, point, node, handed_on_host(frame, point, given.params.only), subject=node)


def _note_work(frame: Frame, node: cst.Call, name: str) -> None:
    """Note what a call says of the code around it: it trains, reads a clock, draws a batch."""
    knowledge = frame.analysis.knowledge
    if knowledge.step_functions.find(name) and (frame.loops or not knowledge.compiled.find(name)):
        # What a transformation makes may be called later.
        frame.nest.does(Work.STEP if name in knowledge.updating else Work.GRADIENTS)
    if name in knowledge.clocks:
        note_event(frame, "clock", node)
    if name in knowledge.language.asks and frame.loops:
        loop = frame.loops[-1]
        loop.shape = loop.shape._replace(once=True)
    if name in knowledge.language.paces and frame.loops and _is_computed(node):
        loop = frame.loops[-1]
        loop.shape = loop.shape._replace(paced=True)
    if name == "next":
        loops.note_draw(frame, node)


def _is_computed(node: cst.Call) -> bool:
    """Whether a call says for how long a pace leaves time: `time.sleep(period - spent)`."""
    return bool(node.args) and type(node.args[0].value) in _COMPUTED


_COMPUTED = frozenset({cst.Name, cst.BinaryOperation, cst.Call})


def _passed_through(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value | None:
    """Return what a function hands on of its arguments; None if it is not one that does."""
    if len(arguments) == 2 and name in frame.analysis.knowledge.language.declares:
        return arguments[1].value
    if len(arguments) > 1 and name == "map":
        return mapped(frame, node, arguments)
    if len(arguments) > 1 and name in frame.analysis.knowledge.tree_maps:
        result = mapped_structure(frame, node, arguments)
        if result.kind != UNKNOWN or result.params:
            return result
    return builtin_calls.builtin_result(frame, name, arguments)


def _is_switch(argument: Argument) -> bool:
    """Whether an argument decides, by an option, if what is made does anything."""
    return argument.keyword == "enabled" and argument.value.literal is not True


def _optimizer(frame: Frame, made: Value, arguments: Arguments) -> Value:
    """Note that an optimizer is made; return it with its option that says how it steps."""
    if frame.nest.context() == ONCE:
        frame.nest.work |= Work.MAKES_OPTIMIZER
    asked = (a.keyword for a in arguments if a.value.literal is True)
    known = frame.analysis.knowledge.made_with
    return made._replace(name=next((keyword for keyword in asked if keyword in known), ""))


def _returned(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """Return what the catalogue says of a call, else what an unresolved one may return."""
    knowledge = frame.analysis.knowledge
    if knowledge.compiled.find(name):
        mark_compiled(frame, arguments)
    note_handed(frame, name, node, arguments)
    if name in knowledge.language.received:
        return HOST_VALUE
    result = symbol_result(frame, name, arguments)
    if result.kind != UNKNOWN and any(map(_is_switch, arguments)):
        result = doubted(result, Doubt.SWITCHED)
    if result.kind == "optimizer":
        result = _optimizer(frame, result, arguments)
    if result.kind == DEVICE:
        note_event(frame, "work", node, result.framework)
    elif result.kind in MADE:
        result = of_function(frame, node, name, arguments, result)
    if name.startswith(knowledge.operators):
        note_call_by_name(frame, name.rpartition(".")[2], handed(frame, arguments))
    if result.kind != UNKNOWN or name in knowledge.language.plain_functions:
        return result
    note_call_by_name(frame, name.rpartition(".")[2], handed(frame, arguments))
    opaque(frame, node, arguments)
    made = of_parameters(frame, name, arguments)
    imported = made.kind == UNKNOWN and "." in name
    return (computed_purely(frame, name, arguments) if imported else None) or made
