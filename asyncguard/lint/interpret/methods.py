"""Method calls: what is known of the receiver decides which rules apply."""

from __future__ import annotations

import functools

import libcst as cst

from asyncguard.lint.contexts.effects import note_call_by_name
from asyncguard.lint.contexts.frame import Frame, call_value
from asyncguard.lint.contexts.loops import note_upload
from asyncguard.lint.contexts.priors import is_called, prior_for
from asyncguard.lint.contexts.usage import told_by_call
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.definitions import ClassInfo
from asyncguard.lint.domain.handed import OF_PYTHON
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.reasons import Provenance, Reason
from asyncguard.lint.domain.values import (
    CALLABLE,
    CLASS,
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INSTANCE,
    SUPER,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    as_sure,
    container,
    derived,
    unplaced,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.interpret import copies
from asyncguard.lint.interpret.arguments import any_device, handed
from asyncguard.lint.interpret.arrays import (
    array_method,
    device_method,
    likely_framework,
    method_sites,
)
from asyncguard.lint.interpret.catalogued import call_symbol
from asyncguard.lint.interpret.functions import mark_compiled, run_given
from asyncguard.lint.interpret.growth import note_added
from asyncguard.lint.interpret.instances import instance_method
from asyncguard.lint.interpret.lookup import defines
from asyncguard.lint.interpret.masks import NOTHING
from asyncguard.lint.interpret.models import model_method, note_run, note_step
from asyncguard.lint.interpret.opaque import (
    acted,
    call_of_name,
    of_parameters,
    of_pure_environment,
    opaque,
    out_of_sight,
)
from asyncguard.lint.interpret.placement import (
    moved_instance,
    prepared,
    unknown_upload,
    upload_if_on_host,
)
from asyncguard.lint.interpret.protocols import protocol_site
from asyncguard.lint.interpret.reads import trigger_sites
from asyncguard.lint.interpret.receivers import each_of, may_be_moved, receiver_of
from asyncguard.lint.interpret.regions import note_method
from asyncguard.lint.interpret.structures import (
    added_by,
    compared_by_key,
    container_method,
    passed_on,
)
from asyncguard.lint.syntax.tree import dotted


def call_method(
    frame: Frame, node: cst.Call, owner: Value, func: cst.Attribute, arguments: Arguments
) -> Value:
    """Call `owner.method(...)`."""
    method = func.attr.value
    if owner.kind == SYMBOL:
        return _call_member(frame, node, owner, method, arguments)
    if type(owner.ref) is tuple:
        each = each_of(owner, method)
        return functools.reduce(join, [call_method(frame, node, o, func, arguments) for o in each])
    if owner.kind == UNKNOWN and owner.params.unless_plain:
        owner = UNKNOWN_VALUE  # what a function that was handed made: its methods tell what it is
    _note_call(frame, node, owner, func, arguments)
    if owner.kind == UNKNOWN:
        owner = _told_by_call(frame, owner, func, arguments)
    if (moved := _moved(frame, node, owner, func, arguments)) is not None:
        return moved
    if type(func.value) is cst.Name and owner.kind == DEVICE:
        upload_if_on_host(frame, node, owner, method, arguments)
    receiver = receiver_of(frame, owner, method, arguments)
    if defines(receiver.value, method):
        return instance_method(frame, node, receiver.value, method, arguments)
    if receiver.value.kind == DEVICE or receiver.is_parameter:
        return _array_method(frame, node, receiver.value, method, arguments)
    if receiver.value.kind in (INSTANCE, SUPER) or isinstance(receiver.value.ref, ClassInfo):
        return instance_method(frame, node, receiver.value, method, arguments)
    return _known_method(frame, node, func, receiver.value, arguments)


def _call_member(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a function of a module, or a method of a class, that was imported."""
    resolved = frame.analysis.resolve(f"{owner.name}.{method}")
    if resolved.kind != SYMBOL:
        return call_value(frame, node, resolved, arguments)
    if (cls := frame.analysis.called_class(frame, owner.name)) is not None:
        return instance_method(frame, node, Value(CLASS, ref=cls), method, arguments)
    return call_symbol(frame, node, resolved.name, arguments)


def _note_call(
    frame: Frame, node: cst.Call, owner: Value, func: cst.Attribute, arguments: Arguments
) -> None:
    """Note what a method does, by its name: it adds to a list, ends a step, begins a graph."""
    method = func.attr.value
    if method == "append" and owner.kind in (CONTAINER, UNKNOWN) and len(arguments) == 1:
        frame.give(dotted(func.value), container(arguments[0].value))
    if (added := added_by(frame, method, arguments)) is not None:
        note_added(frame, func.value, "", added)
    note_step(frame, node, owner, method)
    note_run(frame, owner, method)
    if method in frame.analysis.knowledge.regions.of_methods:
        note_method(frame, node, owner, method)


def _told_by_call(frame: Frame, owner: Value, func: cst.Attribute, arguments: Arguments) -> Value:
    """Note the call of a method of something unknown; return what it tells of that."""
    method = func.attr.value
    if arguments:
        owner = copies.told_by_flag(frame, owner, method, arguments)
        if owner.kind != UNKNOWN:
            return owner
    given = handed(frame, arguments)
    note_call_by_name(frame, method, given)
    # A name of several words tells by itself.
    variable = "" if "_" in method else dotted(func.value).rpartition(".")[2]
    call_of_name(frame, variable, method, given)
    told = frame.analysis.knowledge.by_usage(method, ("numpy",))
    return Value(*told, frame.called(method)) if told else owner


def _moved(
    frame: Frame, node: cst.Call, owner: Value, func: cst.Attribute, arguments: Arguments
) -> Value | None:
    """Return what a method gives that moves something unknown, or a batch of a checked class."""
    method = func.attr.value
    if may_be_moved(frame, owner, func.value, arguments) and (
        moved := unknown_upload(frame, node, func.value, method, arguments)
    ):
        if moved.kind == DEVICE and type(frame.statement) is not cst.Expr:
            note_upload(frame, func.value)
        return moved if moved.confidence >= owner.confidence else as_sure(moved, owner)
    own = moved_instance(frame, node, owner, method, arguments)
    if own is None:
        return None
    made = instance_method(frame, node, owner, method, arguments)
    return made if made.kind not in (UNKNOWN, INSTANCE) else own


def _array_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a device value, or of an argument that may be one."""
    if owner.kind == UNKNOWN and frame.loops and any_device(arguments):
        frame.loops[-1].work |= Work.ENQUEUES  # of an object, whatever its class
    if owner.kind == UNKNOWN and method == "copy" and not arguments:
        return owner
    if owner.kind == UNKNOWN and out_of_sight(frame, method):
        copies.forget(frame)
    result = device_method(frame, node, owner, method, arguments)
    made = of_parameters(frame, method, arguments) if result.kind == UNKNOWN else result
    return made if made.kind == DEVICE else acted(frame, method, arguments, result)


def _known_method(
    frame: Frame, node: cst.Call, func: cst.Attribute, owner: Value, arguments: Arguments
) -> Value:
    """Call a method of a value of known kind, which no checked class defines."""
    method = func.attr.value
    if owner.kind == HOST_ARRAY:
        copies.call_method(frame, node, owner, method, arguments)
    method_sites(frame, node, owner, method, arguments)
    if owner.kind == HOST_ARRAY:
        made = array_method(frame, owner, method, arguments)
        return copies.of_method_result(frame, node, owner, method, made)
    if owner.kind in ("event", "stream"):
        return copies.order(frame, node, owner, method, arguments) or UNKNOWN_VALUE
    if owner.kind == CONTAINER:
        if method not in OF_PYTHON:  # something else is on another path
            note_call_by_name(frame, method, handed(frame, arguments))
        _note_comparisons(frame, node, Argument("", 0, func.value, owner), method, arguments)
        return container_method(frame, func, owner, method, arguments)
    if owner.kind in CALLABLE:
        return model_method(frame, node, owner, method, arguments)
    if method in frame.analysis.knowledge.passes.get(owner.framework, NOTHING) and arguments:
        return passed_on(owner, arguments[0].value)
    if owner.kind != HOST:
        return unknown_method(frame, node, func, owner, arguments)
    for argument in arguments if method == "format" else ():
        protocol_site(frame, "__format__", argument.node, argument.value)
    return HOST_VALUE


def _note_comparisons(
    frame: Frame, node: cst.Call, owner: Argument, method: str, arguments: Arguments
) -> None:
    """Note what a list's method compares: `hypotheses.sort(key=score)`."""
    trigger = frame.analysis.knowledge.trigger(f"list.{method}")
    if trigger is not None and owner.value.role != Role.DICT:
        trigger_sites(frame, node, trigger, compared_by_key(frame, node, [owner, *arguments]))


_BY_NAME = frozenset({Provenance.NAME, Provenance.HOT_NAME})
_TOOLS = frozenset({"optimizer", "scheduler", "loader", "logger", "writer", "metric"})


def unknown_method(
    frame: Frame, node: cst.Call, func: cst.Attribute, owner: Value, arguments: Arguments
) -> Value:
    """Call a method of something unknown: usage may still tell what it is or returns."""
    method = func.attr.value
    answer = opaque(frame, node, arguments)
    path = dotted(func)
    hinted = prior_for(frame, path) if path else UNKNOWN_VALUE
    if hinted.kind in CALLABLE:
        frame.nest.does(Work.RUNS_MODEL)
        role = Role.NONE if hinted.kind == "criterion" else Role.MODEL_OUTPUT
        return derived(hinted, DEVICE, hinted.framework, role)
    if kind := frame.analysis.knowledge.part(owner.framework, owner.kind, method):
        if owner.kind == "loader":
            mark_compiled(frame, arguments)  # what a data set maps is traced
        else:
            run_given(frame, arguments)
        return Value(kind, owner.framework, frame.called(method), Role.MODEL_OUTPUT)
    if (made := _of_tool(frame, owner, method, arguments)) is not None:
        return made
    if uploaded := unknown_upload(frame, node, func.value, method, arguments):
        return uploaded
    used = _by_its_use(frame, node, func, arguments)
    return used or acted(frame, method, arguments, answer)


def _of_tool(frame: Frame, owner: Value, method: str, arguments: Arguments) -> Value | None:
    """Return what a method of an environment, a context, an optimizer or the like gives."""
    if owner.kind == "environment" and (made := of_pure_environment(frame, method, arguments)):
        return made
    if owner.kind == "context" and method in frame.analysis.knowledge.language.places_loaders:
        return prepared(frame, arguments)
    if owner.kind in _TOOLS or (owner.kind == "progress" and owner.element is not None):
        if owner.why.kind in _BY_NAME:  # of a class of its own, maybe: a scheduler of noise
            note_call_by_name(frame, method, handed(frame, arguments))
        return UNKNOWN_VALUE
    return None


def _by_its_use(
    frame: Frame, node: cst.Call, func: cst.Attribute, arguments: Arguments
) -> Value | None:
    """Return the result of a method that only arrays or models have, of something unknown.

    What is called elsewhere is no array, whatever its methods are named.
    """
    if is_called(frame, dotted(func.value)):
        return None
    method = func.attr.value
    knowledge = frame.analysis.knowledge
    proof = told_by_call(node, method, knowledge, frame.analysis.frameworks)
    sure = frame.trains or frame.analysis.is_alone or method in knowledge.rare
    likely = likely_framework(frame, method) if sure else ""
    for framework in frame.analysis.frameworks:
        proved = proof == (DEVICE, framework)
        if proved or framework == likely:
            sure = proved or frame.trains
            why = frame.called(method, Provenance.USAGE if sure else Provenance.NAME)
            return device_method(frame, node, unplaced(framework, why), method, arguments)
        if knowledge.model_methods[framework].get(method) == HOST_ARRAY:
            # If it is a model's; else most likely as well.
            return Value(HOST_ARRAY, framework, Reason(Provenance.GUESS))
    return None
