"""Calls of unresolved functions.

What they return is inferred from their names and arguments, mostly where functions are pure.
"""

from __future__ import annotations

import sys

import libcst as cst

from asyncguard.lint.contexts.effects import note_call_by_name, note_event
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.handed import OF_NAME, Handed
from asyncguard.lint.domain.reasons import MEDIUM, Provenance, Reason
from asyncguard.lint.domain.values import CONTAINER, DEVICE, UNKNOWN, UNKNOWN_VALUE, Role, Value
from asyncguard.lint.domain.work import Work
from asyncguard.lint.interpret import copies
from asyncguard.lint.interpret.arguments import any_device
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted

_WAITS = family("function.waits")
SHORT = 4  # characters: a shorter variable tells nothing of its class


def opaque(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """Note a call out of sight if it may wait: it is handed a device value, or is named so.

    What one gives that is handed none, its name says little of: losses of a whole step are numbers.
    """
    name = node.func.attr.value if type(node.func) is cst.Attribute else dotted(node.func)
    if name not in frame.analysis.knowledge.copy_orders:
        copies.forget(frame)
    given = any_device(arguments)
    if given and frame.loops:
        frame.loops[-1].work |= Work.ENQUEUES
    if given or _WAITS(name):
        note_event(frame, "opaque", node)
    if (made := of_parameters(frame, name, arguments)).kind == DEVICE:
        return made
    unknown = given or any(
        a.value.kind in (UNKNOWN, CONTAINER) and a.value.params for a in arguments
    )
    return UNKNOWN_VALUE if unknown else Value(role=Role.OPAQUE_RESULT)


def out_of_sight(frame: Frame, method: str) -> bool:
    """Whether a method of an argument may wait for copies, by its name."""
    known = frame.analysis.knowledge
    return bool(_WAITS(method) or method in known.copy_waits) and method not in known.copy_orders


def call_of_name(frame: Frame, variable: str, method: str, given: Handed) -> None:
    """Note the call of a method of a class that may be named like the variable."""
    if len(variable) >= SHORT:
        note_call_by_name(frame, f"{OF_NAME}{variable}.{method}", given)


def called_itself(frame: Frame, variable: str, given: Handed) -> None:
    """Note the call of an object whose class may be named like the variable: `callback(step)`."""
    call_of_name(frame, variable, "__call__", given)


# Names of a model's parameters, and of the parts of it that are some; others count or choose.
_PARAMETERS = family("value.parameters")


def of_parameters(frame: Frame, name: str, arguments: Arguments) -> Value:
    """Return what a function out of sight makes of a model's parameters, which it is handed.

    Where a framework's training state is passed around, that runs the model in a training step.
    """
    framework = frame.analysis.knowledge.functional_of(frame.analysis.frameworks)
    if not framework:
        return UNKNOWN_VALUE
    last = name.rpartition(".")[2]
    given = any(_PARAMETERS(dotted(argument.node)) for argument in arguments)
    if not given or len(arguments) < 2:
        return UNKNOWN_VALUE
    frame.operation(framework)
    why = frame.by_name(f"`{last}` is passed the parameters of a model")
    return Value(DEVICE, framework, why, Role.MODEL_OUTPUT)


# What says, shows or keeps something, or brings it to the host.
_TELLS = family("function.tells")


def of_pure_environment(frame: Frame, method: str, arguments: Arguments) -> Value | None:
    """Return what an environment that is a pure function gives, on the device itself.

    It takes a step from a state that it is handed beside the action, and starts from a key.
    """
    handed_on = len(arguments) > 1 or _RESETS(method)
    why = frame.reason(Provenance.USAGE, f"`{method}` is handed its state")
    return _made_of_device_values(frame, arguments, why) if handed_on else None


def computed_purely(frame: Frame, name: str, arguments: Arguments) -> Value | None:
    """Return what a function out of sight computes of device values, where functions are pure."""
    library = name.partition(".")[0]
    elsewhere = frame.analysis.knowledge.language.host_libraries
    if library in sys.stdlib_module_names or library in elsewhere:
        return None
    *owners, last = name.split(".")
    if not last or any(part[:1].isupper() for part in (*owners, last)) or _TELLS(last.lower()):
        return None
    why = frame.by_name(f"`{last}` computes with a device value")
    return _made_of_device_values(frame, arguments, why)


def _made_of_device_values(frame: Frame, arguments: Arguments, why: Reason) -> Value | None:
    held = (first_device(a.value) for a in arguments)
    given = next((v for v in held if v.kind == DEVICE and v.confidence >= MEDIUM), None)
    if given is None or not frame.analysis.knowledge.functional_of((given.framework,)):
        return None
    return Value(DEVICE, given.framework, why, Role.MODEL_OUTPUT)


def acted(frame: Frame, method: str, arguments: Arguments, answer: Value) -> Value:
    """Return the answer of a method out of sight, or what one gives that acts."""
    if answer.kind != UNKNOWN or not ACTS(method):
        return answer
    return computed_purely(frame, method, arguments) or answer._replace(role=Role.ACTION)


ACTS = family("function.acts")
_RESETS = family("function.resets")
