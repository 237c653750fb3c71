"""Calls that train, as far as the names of what is called, taken and returned tell.

What a call does to the loop around it is noted as evidence (`Nesting.does`).
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from asyncguard.lint.contexts.frame import Frame, evaluate
from asyncguard.lint.contexts.iteration import unpacked
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.reasons import MEDIUM, Doubt, Provenance
from asyncguard.lint.domain.values import (
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    MODEL,
    UNKNOWN,
    Role,
    Value,
    container,
    doubted,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted

_TRAINED = family("state.training")
_TRAINS = family("function.trains")
_EPOCH, _STEPS = family("counter.epoch"), family("function.steps")
_OF_ENVIRONMENTS = (4, 5)  # what a step gives: observation, reward, whether it ended, and more


class _Carried(NamedTuple):
    """What an assignment shows of a call that returns what it took: `state, x = f(state, batch)`.

    `targets` are the paths of a tuple on the left; `agents` those among them whose own method is
    called.
    """

    targets: list[str]
    agents: list[str]
    trains: bool  # it changes what is trained
    goes_on: bool  # it computes the next state of something


def note_update(frame: Frame, node: cst.Assign, call: cst.Call, value: Value) -> Value:
    """`params, opt_state = update(params, opt_state)` is a training step, by any name.

    Of plain parameters, a `state` or an agent whose method it is, what is called tells as well:
    `state = train(state, batch)`. What else it gives, if that is not known, is on the device.
    """
    framework = frame.analysis.knowledge.functional_of(frame.analysis.frameworks)
    if not framework and value.kind != UNKNOWN:
        return value  # steps change what they train in place
    if not call.args:
        return value
    for target in node.targets if framework else ():
        carried = _carried(frame, target.target, call)
        if (carried.trains or carried.goes_on) and not _runs_many(frame, call.func):
            frame.nest.does(Work.STEP if carried.trains else Work.RUNS_MODEL)
        if carried.targets and (carried.trains or carried.goes_on):
            return _next_state(frame, framework, call, carried, value)
    return value if value.kind != UNKNOWN else _as_before(frame, node, call, value)


def note_act(frame: Frame) -> None:
    """Note a step of an environment."""
    if frame.loops:
        frame.loops[-1].work |= Work.STEPS_ENVIRONMENT
    else:
        frame.nest.work |= Work.STEPS_ENVIRONMENT


def note_acting(frame: Frame, target: cst.BaseExpression, call: cst.Call, value: Value) -> Value:
    """`observation, reward, done, info = mdp.step(action)` steps an environment, of any name.

    One that takes NumPy arrays or numbers gives such.
    """
    method = call.func.attr.value if type(call.func) is cst.Attribute else ""
    gives = len(target.elements) if type(target) is cst.Tuple else 0
    if gives in _OF_ENVIRONMENTS and call.args and _STEPS(method):
        frame.nest.does(Work.RUNS_MODEL)
        note_act(frame)
        if value.kind == UNKNOWN and _is_of_host(frame, call.args[0].value):
            return container(None, (Value(HOST_ARRAY, "numpy"),) * gives)
    return value


def _is_of_host(frame: Frame, action: cst.BaseExpression) -> bool:
    """Whether an action is a number, or a NumPy array."""
    with frame.speculation():
        given = evaluate(frame, action)
    return given.kind == HOST or (given.kind == HOST_ARRAY and given.framework == "numpy")


def _runs_many(frame: Frame, called: cst.BaseExpression) -> bool:
    """Whether the called function loops over steps: its result is the last state."""
    callee = _in_sight(frame, called)
    if callee is None:
        return False
    loops = bool(frame.analysis.summary_for(callee).work & Work.CONTAINS_STEPS)
    return loops or is_compiled_epoch(callee)


def is_compiled_epoch(info: FunctionInfo) -> bool:
    """Whether a function runs all steps of an epoch on the device, by `scan`, as its name tells."""
    return info.compiled and _EPOCH(info.name)


def _carried(frame: Frame, target: cst.BaseExpression, call: cst.Call) -> _Carried:
    knowledge, frameworks = frame.analysis.knowledge, frame.analysis.frameworks
    name = _name_of(call)
    elements = target.elements if type(target) is cst.Tuple else ()
    targets = [dotted(element.value) for element in elements]
    taken = {dotted(argument.value) for argument in call.args} if len(call.args) > 1 else set()
    passed = [path for path in (dotted(target), *targets) if path in taken]
    owner = dotted(call.func.value) if type(call.func) is cst.Attribute else ""
    acts = owner in targets and knowledge.updates("state", name, frameworks)
    changes = any(knowledge.updates(path.rpartition(".")[2], name, frameworks) for path in passed)
    goes_on = any(map(_TRAINED, passed))
    return _Carried(targets, [owner] if acts else [], changes or acts, goes_on)


def _next_state(
    frame: Frame, framework: str, call: cst.Call, carried: _Carried, value: Value
) -> Value:
    """Return what a step gives: what is not known of it is on the device, but for the agent."""
    sure = Provenance.USAGE if carried.trains or frame.trains else Provenance.NAME
    why = frame.reason(sure, f"`{_name_of(call)}` computes the next training state")
    made = Value(DEVICE, framework, why, Role.MODEL_OUTPUT)
    parts = zip(carried.targets, unpacked(frame, value, len(carried.targets)), strict=True)
    known = (
        part if part.kind != UNKNOWN or path in carried.agents else made for path, part in parts
    )
    return container(None, tuple(known))


def _as_before(frame: Frame, node: cst.Assign, call: cst.Call, value: Value) -> Value:
    """Return what `x = f(x)` out of sight makes of a device value.

    That is one as well where functions are pure, and where `f` is a variable: a layer of a model.
    """
    path = dotted(node.targets[0].target)
    if not path or path != dotted(call.args[0].value):
        return value
    before = frame.lookup(path)
    if before is None or before.kind != DEVICE or before.confidence < MEDIUM:
        return value
    if frame.analysis.knowledge.functional_of((before.framework,)):
        return doubted(before, Doubt.INFERRED)
    if not _is_variable(frame, call.func):
        return value
    frame.nest.does(Work.RUNS_MODEL)
    return doubted(before, Doubt.INFERRED)


def _is_variable(frame: Frame, called: cst.BaseExpression) -> bool:
    """Whether what is called is held by a variable, or an attribute of `self`, and not known."""
    path = dotted(called)
    known = frame.lookup(path) if path else None
    if known is None:
        return path.startswith("self.")
    return known.kind == UNKNOWN


def _name_of(call: cst.Call) -> str:
    """Return the last name of what is called; "" if it has none."""
    func = call.func.attr if type(call.func) is cst.Attribute else call.func
    return func.value if type(func) is cst.Name else ""


def names_training(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a call runs a training step on what it is given, by the name of what is called.

    Where the body of that is in sight, its name decides nothing: it may train for epochs.
    """
    if type(node) is not cst.Call or type(node.func) is not cst.Attribute or not node.args:
        return False
    if not _TRAINS(node.func.attr.value) or dotted(node.args[0].value) in ("True", "False"):
        return False  # a model's mode
    return _in_sight(frame, node.func) is None


def _in_sight(frame: Frame, called: cst.BaseExpression) -> FunctionInfo | None:
    """Return the function that is called, if it has a body here that no subclass replaces."""
    with frame.speculation():
        callee = evaluate(frame, called)
    info = callee.ref if callee.kind in (FUNCTION, MODEL) else None
    return info if isinstance(info, FunctionInfo) and not frame.analysis.is_abstract(info) else None
