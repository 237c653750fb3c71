"""What the functions that the catalogue knows return, by the kind that it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device, parts
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import FunctionInfo, function_of
from asyncguard.lint.domain.dependence import Dependence
from asyncguard.lint.domain.reasons import HIGH, MEDIUM, Doubt
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MODEL,
    NUMBERS,
    ONE_NUMBER,
    UNKNOWN,
    UNKNOWN_VALUE,
    Place,
    Role,
    Value,
    container,
    derived,
    device,
    doubted,
    from_params,
    unplaced,
)
from asyncguard.lint.interpret import builtin_calls
from asyncguard.lint.interpret.arguments import first_host_array
from asyncguard.lint.interpret.placement import NOTHING, as_mask, owner_on_host, placed
from asyncguard.lint.interpret.structures import leaf
from asyncguard.model import SyncKind


class Callee(NamedTuple):
    """A function that the catalogue knows, with the kind and framework of what it returns."""

    name: str
    kind: str
    framework: str

    @property
    def last(self) -> str:
        """Return its name without its module."""
        return self.name.rpartition(".")[2]


def symbol_result(frame: Frame, name: str, arguments: Arguments) -> Value:
    """Return what the catalogue says that a call of `name` returns."""
    knowledge = frame.analysis.knowledge
    found = knowledge.returns.find(name) or knowledge.types.find(name)
    if found is None:
        return HOST_VALUE if knowledge.framework_of(name) == "numpy" else UNKNOWN_VALUE
    callee = Callee(name, *found)
    if found == (HOST_ARRAY, "numpy") and (made := _dispatched(frame, callee, arguments)):
        return made
    own = (*frame.analysis.frameworks, knowledge.framework_of(name))
    if callee.kind == DEVICE and callee.framework not in own:
        return UNKNOWN_VALUE  # of a library that other frameworks' arrays can be given to as well
    registers = name in knowledge.registers.get(callee.framework, NOTHING)
    if registers and callee.kind != _ANYWHERE:
        return device(callee.framework)
    result = _RESULTS.get(callee.kind)
    made = result(frame, callee, arguments) if result is not None else None
    if made is not None:
        return made
    return frame.analysis.named(callee.kind, callee.framework, frame.returned(name))


def _dispatched(frame: Frame, callee: Callee, arguments: Arguments) -> Value | None:
    """Return the device value that a function of NumPy's makes of a framework's own."""
    knowledge = frame.analysis.knowledge
    for argument in arguments:
        value = first_device(argument.value)
        listed = argument.value.kind == CONTAINER or value.role == Role.NAME_INFERRED
        own = "" if listed else callee.last  # a list has no such methods
        if value.kind == DEVICE and knowledge.dispatches(value.framework, own):
            frame.operation(value.framework)
            return from_params(derived(value, DEVICE, value.framework), value.params)
    return None


def _masked(frame: Frame, made: Value, callee: Callee, arguments: Arguments) -> Value:
    operands = [argument.value for argument in arguments]
    whole = len(arguments) == 1 and callee.last in frame.analysis.knowledge.reductions
    if whole and made.kind == DEVICE:
        made = made._replace(name=ONE_NUMBER)
    return as_mask(frame, made, callee.last, operands, arguments)


def _anywhere(frame: Frame, callee: Callee, arguments: Arguments) -> Value:
    made = placed(frame, callee.framework, arguments)
    if made.kind == HOST_ARRAY and arguments and _converts(frame, callee):
        made = _where_it_was(made, arguments[0].value)
    return _masked(frame, made, callee, arguments)


def _converts(frame: Frame, callee: Callee) -> bool:
    """Whether a function makes an array of what it is given, which it uploads if it is told to."""
    points = frame.analysis.knowledge.sync_functions.get(callee.name, ())
    return any(point.kind == SyncKind.UPLOAD for point in points)


def _where_it_was(made: Value, given: Value) -> Value:
    """Return what is made of an array without a word about the place: it is where that was."""
    if given.kind == DEVICE and given.confidence >= MEDIUM and given.place is Place.DEVICE:
        return from_params(derived(given, DEVICE, made.framework), given.params)
    return from_params(made, given.params)


def _leaves(frame: Frame, callee: Callee, arguments: Arguments) -> Value:
    """Return what is made of the leaves of a tree, which is where they are."""
    if any(leaf(argument.value).kind == HOST for argument in arguments[1:2]):
        return HOST_VALUE
    return _computed(frame, callee, arguments)


def _listed(frame: Frame, callee: Callee, arguments: Arguments) -> Value:
    """Return a list of the leaves of a tree."""
    return container(leaf(arguments[0].value) if arguments else None)


def _flattened(frame: Frame, callee: Callee, arguments: Arguments) -> Value:
    """Return such a list, and what the structure of the tree is."""
    return container(None, (_listed(frame, callee, arguments), HOST_VALUE))


def _computed(frame: Frame, callee: Callee, arguments: Arguments) -> Value:
    """Return what is computed on the device."""
    knowledge = frame.analysis.knowledge
    frame.operation(callee.framework)
    made = _device_result(frame, callee, arguments)
    keeps = knowledge.keeps_masks.get(callee.framework, NOTHING)
    moves = callee.last in keeps and "_like" not in callee.last
    if made.place is Place.EITHER and not moves and not _begins_with_number(arguments):
        made = made._replace(role=Role.NONE)  # it computes, which is done on the device
    if callee.name in knowledge.joins and arguments:
        made = _joined(made, arguments[0].value)
    return _masked(frame, made, callee, arguments)


def _begins_with_number(arguments: Arguments) -> bool:
    """Whether a number is given first, so that the result is where the others are, if anywhere.

    `torch.div(x.size(1), 2 * overlap)` is in host memory, unless `overlap` is a tensor.
    """
    if any(argument.keyword == "device" for argument in arguments):
        return False
    first = next((argument.value for argument in arguments if not argument.keyword), None)
    return first is not None and first.kind == HOST and not first.is_none


def _joined(made: Value, arrays: Value) -> Value:
    """Return one array of several, which is where they are: of a declared list, where callers say.

    Of arguments that are no more than taken for device values, it may be in host memory still,
    which a move to the device would show.
    """
    given = first_device(arrays)
    if given.kind != DEVICE or not given.params:
        return made
    if given.confidence <= MEDIUM:
        return made._replace(role=Role.UNPLACED, params=given.params)
    return from_params(made, given.params) if given is arrays.element else made


def _on_host(frame: Frame, callee: Callee, arguments: Arguments) -> Value:
    most = frame.analysis.knowledge.numbers.get(callee.name)
    if most is not None and _gives_one(arguments, most):
        # An action, maybe, like one that a policy returns.
        return doubted(HOST_VALUE, Doubt.INFERRED)
    made = Value(HOST_ARRAY, owner_on_host(frame, callee.framework))
    return _masked(frame, made, callee, arguments)


def _plain(frame: Frame, callee: Callee, arguments: Arguments) -> Value | None:
    if callee.framework == "numpy" or not arguments:
        return None
    place = arguments[0].value.literal  # of a device, say
    known = frame.analysis.knowledge.types.find(callee.name)
    name = callee.name if known is not None and known[0] == HOST else ""
    return Value(HOST, name=name, literal=place if isinstance(place, str) else None)


def _dict(frame: Frame, callee: Callee, arguments: Arguments) -> Value | None:
    if not any(argument.keyword for argument in arguments):
        return None
    return builtin_calls.builtin_result(frame, "dict", arguments) or UNKNOWN_VALUE


def _progress(frame: Frame, callee: Callee, arguments: Arguments) -> Value | None:
    if not arguments:
        return None
    inner = builtin_calls.opened(frame, arguments[0].value)
    return derived(inner, callee.kind, callee.framework)._replace(element=inner)


def _callable(frame: Frame, callee: Callee, arguments: Arguments) -> Value | None:
    """Return the model that is made of a model or a function, by a compiler maybe."""
    if not arguments:
        return None
    knowledge, inner = frame.analysis.knowledge, arguments[0].value
    if knowledge.compiled.find(callee.name) is not None:
        traced = inner.kind == FUNCTION and type(function_of(inner).node) is not cst.Lambda
        differentiates = knowledge.step_functions.find(callee.name) is not None
        asks = differentiates or inner.role == Role.GRADIENT_FUNCTION
        role = Role.GRADIENT_FUNCTION if asks else Role.NONE
        return Value(callee.kind, callee.framework, role=role, ref=inner.ref if traced else None)
    framework = inner.framework or callee.framework
    if inner.kind == MODEL:
        return Value(callee.kind, framework, ref=inner.ref)
    return Value(callee.kind, framework) if isinstance(inner.ref, FunctionInfo) else None


_ANYWHERE = "device_or_host"
_RESULTS: Mapping[str, Callable[[Frame, Callee, Arguments], Value | None]] = {
    _ANYWHERE: _anywhere,
    "leaves": _leaves,
    DEVICE: _computed,
    HOST_ARRAY: _on_host,
    HOST: _plain,
    CONTAINER: _dict,
    "listed": _listed,
    "flattened": _flattened,
    "progress": _progress,
    MODEL: _callable,
    "criterion": _callable,
}


def _gives_one(arguments: Arguments, most: int) -> bool:
    """Whether a call gives a number: it asks for no size and no axis, by position either."""
    plain = sum(1 for argument in arguments if not argument.keyword)
    sized = any(a.keyword in ("size", "axis") for a in arguments)
    return plain <= most and not sized


def _device_result(frame: Frame, callee: Callee, arguments: Arguments) -> Value:
    """Return what a device function makes: of host tensors only it stays there, as a rule."""
    framework, why = callee.framework, frame.returned(callee.name)
    uploads = frame.analysis.knowledge.frameworks[framework].asynchronous_cpu
    held = [first_device(argument.value) for argument in arguments]
    known = [value for value in held if value.kind == DEVICE]
    surest = max(
        (value for value in known if value.place is not Place.EITHER),
        key=lambda value: value.confidence,
        default=None,
    )
    if not uploads and (_stays(framework, surest, arguments) or _of_numbers(arguments)):
        return Value(HOST_ARRAY, framework)
    if known:
        if surest is not None and surest.confidence >= MEDIUM:
            return derived(surest, DEVICE, framework)
        if surest is not None:
            return doubted(device(framework, why), Doubt.INFERRED)
        made = unplaced(framework, why, _where_arguments_are(arguments))
        return doubted(made, Doubt.INFERRED)
    if not held or any(value.kind not in _NO_ARRAYS for value in held):
        return device(framework, why)
    made = unplaced(framework, why, _where_arguments_are(arguments))
    return made if uploads else doubted(made, Doubt.INFERRED)


def _where_arguments_are(arguments: Arguments) -> Dependence:
    """Return what an array depends on that is made of parameters alone: it is where these are."""
    known = [part.params for argument in arguments for part in parts(argument.value)]
    return Dependence(unless_host=frozenset().union(*(p.on | p.unless_host for p in known)))


_NO_ARRAYS = frozenset({UNKNOWN, CONTAINER, HOST})


def _of_numbers(arguments: Arguments) -> bool:
    """Whether only host values are given, one of them declared as a number."""
    given = [a.value for a in arguments if not a.keyword]
    return all(v.kind == HOST for v in given) and any(v.name in NUMBERS for v in given)


def _stays(framework: str, surest: Value | None, arguments: Arguments) -> bool:
    """Whether something is computed in host memory: what else it is given is no device tensor."""
    listed = bool(arguments) and arguments[0].value.kind == CONTAINER  # all are in one place
    if surest is not None and surest.confidence >= (HIGH if listed else MEDIUM):
        return False
    arrays = [first_host_array(argument.value) for argument in arguments]
    return any(array is not None and array.framework == framework for array in arrays)
