"""Calls of models, criteria, optimizers and environments, and what they say about a loop."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from asyncguard.lint.contexts.effects import note_call_by_name, note_event, note_site
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.contexts.priors import prior_for
from asyncguard.lint.contexts.trainings import is_compiled_epoch, note_act
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo, class_of
from asyncguard.lint.domain.reasons import LOW, MEDIUM, Doubt, Provenance
from asyncguard.lint.domain.values import (
    CALLABLE,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INSTANCE,
    MAY_BE_NUMBER,
    MODEL,
    SUPER,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    derived,
    device,
    doubted,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.interpret.arguments import any_device, handed
from asyncguard.lint.interpret.functions import call_function
from asyncguard.lint.interpret.indexing import chosen_from_device
from asyncguard.lint.interpret.learning import learn_from_layer
from asyncguard.lint.interpret.masks import NOTHING
from asyncguard.lint.interpret.opaque import ACTS
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import argument_paths, dotted, names_in


def call_model(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """A model's or criterion's output is a device value; calling one is device work."""
    if _makes_node(frame, node, callee, arguments):
        return UNKNOWN_VALUE
    if callee.role == Role.GRADIENT_FUNCTION:
        frame.nest.does(Work.GRADIENTS)
    frame.nest.does(Work.RUNS_MODEL)
    frame.nest.feeds(names_in(node.func), argument_paths(node))
    _note_choices(frame, callee, arguments)
    _note_splatted(frame, callee, arguments)
    if not any(a.value.kind == HOST_ARRAY and a.value.framework != "numpy" for a in arguments):
        note_event(frame, "work", node, callee.framework)  # else the model is on the host as well
    if callee.ref is None:
        learn_from_layer(frame, callee, arguments)
    if isinstance(callee.ref, ClassInfo):
        result = _run_forward(frame, node, callee, arguments)
        if result.kind not in (UNKNOWN, HOST):
            return result
    if isinstance(callee.ref, FunctionInfo):
        _note_launch(frame, node, callee.framework, arguments)
        return _call_compiled(frame, callee.ref, callee.framework)
    if callee.kind != "criterion":
        return derived(callee, DEVICE, callee.framework, Role.MODEL_OUTPUT)
    on_host = any(_is_host_array(a.value) and a.value.role is not Role.BATCH for a in arguments)
    there = any(a.value.kind == DEVICE for a in arguments)
    return derived(callee, HOST_ARRAY if on_host and not there else DEVICE, callee.framework)


METRIC = "metric"


def call_metric(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call a metric of a checked class: it takes the values in, and computes a result of them."""
    cls = class_of(callee)
    own = cls.lookup("forward") or cls.lookup("__call__")
    if own is not None:
        return call_function(frame, node, Value(FUNCTION, ref=own, element=callee), arguments)
    result = UNKNOWN_VALUE
    for name, given in (("update", arguments), ("compute", ())):
        if (method := cls.lookup(name)) is not None:
            bound = Value(FUNCTION, ref=method, element=callee)
            result = call_function(frame, node, bound, given)
    return result


def _note_choices(frame: Frame, model: Value, arguments: Arguments) -> None:
    """Note what indices have cost by which a model's arguments were chosen."""
    for argument in arguments:
        if argument.value.kind == UNKNOWN:
            chosen = frame.held.get(dotted(argument.node), argument.node)
            if type(chosen) is cst.Subscript:
                chosen_from_device(frame, chosen, model.framework)


def _note_splatted(frame: Frame, model: Value, arguments: Arguments) -> None:
    """Note that a dict of arrays on the device is handed to a model: `model(**data)`."""
    for argument in arguments:
        known, path = argument.value, dotted(argument.node)
        unsure = known.kind == UNKNOWN or (known.kind == DEVICE and known.confidence < MEDIUM)
        if argument.stars == 2 and path and unsure and not known.was_read:
            why = frame.reason(Provenance.USAGE, "a model is given what it holds")
            held = container(device(model.framework, why, known.params))
            frame.note(path, held._replace(role=Role.DICT, params=known.params))


def _makes_node(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> bool:
    """Whether a layer that is made in passing makes a node of a graph."""
    made = callee.kind == MODEL and type(node.func) is cst.Call
    if not made or isinstance(callee.ref, FunctionInfo) or any_device(arguments):
        return False
    known = frame.analysis.knowledge.frameworks.get(callee.framework)
    return known is not None and bool(known.graph_functions)


_FORWARD = ("forward", "__call__", "hybrid_forward")


def _run_forward(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call the method of a checked class of models that runs them."""
    cls = class_of(callee)
    methods = (cls.lookup(name) for name in _FORWARD)
    method = next((found for found in methods if found is not None), None)
    if method is None:
        return UNKNOWN_VALUE
    bound = Value(FUNCTION, ref=method, element=callee)
    return call_function(frame, node, bound, arguments)


def _note_launch(frame: Frame, node: cst.Call, framework: str, arguments: Arguments) -> None:
    """Note that a compiled function is given arrays in host memory, which it copies and awaits.

    A name alone does not make one, for the caller may give another; numbers are no arrays.
    """
    point = frame.analysis.knowledge.sync_launches.get(framework)
    if point is not None and any(_is_host_array(argument.value) for argument in arguments):
        note_site(frame, point, node, device(framework), subject=node)


def _is_host_array(value: Value) -> bool:
    sure = value.confidence >= MEDIUM and value.name != MAY_BE_NUMBER
    return value.kind == HOST_ARRAY and sure


def _call_compiled(frame: Frame, info: FunctionInfo, framework: str) -> Value:
    """Call a compiled function."""
    if is_compiled_epoch(info):
        frame.nest.contains(Work.CONTAINS_STEPS | Work.CONTAINS_TRAINING)
    elif frame.analysis.summary_for(info).work & Work.GRADIENTS:
        frame.nest.does(Work.STEP)
    elif frame.loops and frame.loops[-1].shape.names_steps:
        frame.loops[-1].draws(LOW)  # one step is compiled
    return compiled_result(frame, info, framework)


def compiled_result(frame: Frame, info: FunctionInfo, framework: str) -> Value:
    """Whatever a compiled function makes comes out as device values, in the same containers."""
    return _on_device(frame.analysis.summary_for(info).result, framework)


def _on_device(result: Value, framework: str) -> Value:
    if result.kind == CONTAINER:
        items = result.items and tuple(_on_device(item, framework) for item in result.items)
        fields = result.fields.mapped(lambda value: _on_device(value, framework))
        if any(value.kind == CONTAINER for _, value in fields):
            return Value(CONTAINER, items=items, fields=fields)
        # By any key: others than those in sight may be handed on, `dict(metrics, loss=loss)`.
        element = None if items else _on_device(result.element or UNKNOWN_VALUE, framework)
        return Value(CONTAINER, element=element, items=items)
    plain = result.kind == DEVICE and result.role != Role.MODEL_OUTPUT
    return Value(DEVICE, framework, role=Role.NONE if plain else Role.MODEL_OUTPUT)


def model_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a model."""
    kind = frame.analysis.knowledge.model_methods.get(owner.framework, {}).get(method)
    if kind in _OF_MODELS:
        return _OF_MODELS[kind](derived(owner, MODEL, owner.framework))
    if kind in _COLLECTIONS:
        return _COLLECTIONS[kind](derived(owner, DEVICE, owner.framework))
    if kind == MODEL:
        return owner
    if kind == DEVICE:
        frame.nest.does(Work.RUNS_MODEL)
        return derived(owner, DEVICE, owner.framework)
    if kind is not None:
        if owner.framework in frame.analysis.knowledge.trainings.get(method, NOTHING):
            note_training(frame, arguments)
        if kind == HOST_ARRAY and arguments:
            frame.nest.does(Work.RUNS_MODEL)  # it predicts
        return derived(owner, kind, owner.framework)
    note_call_by_name(frame, method, handed(frame, arguments))
    if _TOKENIZES(method):
        return UNKNOWN_VALUE  # not what the model computes
    _note_choices(frame, owner, arguments)
    if ACTS(method):
        frame.nest.does(Work.RUNS_MODEL)
        return Value(role=Role.ACTION)  # an environment wants arrays in host memory mostly
    inputs = [first_device(a.value) for a in arguments]
    tensors = [v for v in inputs if v.kind in (DEVICE, HOST_ARRAY)]
    if tensors:
        frame.nest.does(Work.RUNS_MODEL)
        return doubted(derived(owner, DEVICE, owner.framework, Role.MODEL_OUTPUT), Doubt.INFERRED)
    return UNKNOWN_VALUE


def note_training(frame: Frame, arguments: Arguments) -> None:
    """A loop that trains a model for epochs goes over trainings, unless it is named after steps."""
    epochs = next((a.value for a in arguments if a.keyword == "epochs"), None)
    loop = frame.nest.enclosing
    if epochs is None or epochs.literal == 1 or loop is None or loop.shape.names_steps:
        return
    loop.work |= Work.CONTAINS_STEPS | Work.CONTAINS_TRAINING


# What methods of a model return that hold its parameters: all, with their names, by their names.
_COLLECTIONS: dict[str, Callable[[Value], Value]] = {
    CONTAINER: lambda held: container(held),
    "pairs": lambda held: container(container(None, (HOST_VALUE, held)))._replace(role=Role.PAIRS),
    "mapping": lambda held: container(held)._replace(role=Role.DICT),
}

# What methods return that give the models that one is made of: all, with their names.
_OF_MODELS: dict[str, Callable[[Value], Value]] = {
    "models": lambda held: container(held),
    "named_models": lambda held: container(container(None, (HOST_VALUE, held))),
}


def note_step(frame: Frame, node: cst.Call, owner: Value, method: str) -> None:
    """A backward pass or an optimizer's step makes the loop a training loop."""
    knowledge = frame.analysis.knowledge
    active = frame.analysis.frameworks
    if method in knowledge.step_methods and not knowledge.step_methods[method].isdisjoint(active):
        if owner.kind not in (HOST, HOST_ARRAY):
            updates = method in knowledge.updating
            if updates:
                _note_member(frame, node)
            frame.nest.does(Work.STEP if updates else Work.GRADIENTS | Work.TRAINS)
            note_event(frame, "work", node, owner.framework or active[0])
    elif method == "step" and _is_environment(frame, node, owner):
        frame.nest.does(Work.RUNS_MODEL)
        note_act(frame)
    elif owner.kind in ("optimizer", "scaler") and method in knowledge.optimizer_methods:
        _note_member(frame, node)
        frame.nest.does(Work.STEP)
        note_event(frame, "work", node, owner.framework or active[0])
    elif _is_one_step(owner, method):
        frame.nest.does(Work.STEP)
    elif not knowledge.hot_functions.get(method, NOTHING).isdisjoint(active):
        frame.nest.does(Work.RUNS_MODEL)  # of whatever class, it is called once a step


_ONE_STEP = family("function.one_step")
_OUT_OF_SIGHT = CALLABLE | {UNKNOWN}


def _is_one_step(owner: Value, method: str) -> bool:
    """Whether a method runs one training step by its name: `model.train_step(batch)`."""
    return _ONE_STEP(method) and owner.kind in _OUT_OF_SIGHT and owner.ref is None


def note_run(frame: Frame, owner: Value, method: str) -> None:
    """Note that a loop goes over whole runs: one within a run, or of what a class inherits.

    `for window in windows: super().generate(window)`: each round generates many tokens.
    """
    if _RUNS(method) and (owner.kind == SUPER or _RUNS(frame.function.name)):
        frame.nest.contains(Work.CONTAINS_STEPS)
    elif _RUNS(method) and owner.kind == MODEL:
        frame.nest.runs_what_repeats(Work.CONTAINS_RUNS)


_RUNS, _TOKENIZES = family("function.runs_steps"), family("function.tokenizes")


def _note_member(frame: Frame, node: cst.Call) -> None:
    """Note that a loop goes over what one step trains, where each round has its own optimizer.

    `for key in self.keys: self.optimizers[key].step()`.
    """
    loop = frame.loops[-1] if frame.loops else None
    if loop is None or not loop.targets or loop.shape.batches >= 0:
        return
    stepping = node.func.value if type(node.func) is cst.Attribute else None
    if type(stepping) is cst.Subscript and len(stepping.slice) == 1:
        index = stepping.slice[0].slice
        stepping = index.value if type(index) is cst.Index else None
    if type(stepping) is cst.Name and stepping.value in loop.targets:
        frame.nest.goes_over_members()


def _is_environment(frame: Frame, node: cst.Call, owner: Value) -> bool:
    """Whether a method is one of an environment, of a class of its own maybe."""
    if owner.kind != INSTANCE or type(node.func) is not cst.Attribute:
        return owner.kind == "environment"
    return prior_for(frame, dotted(node.func.value)).kind == "environment"
