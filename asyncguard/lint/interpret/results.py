"""What the functions that the catalogue knows return, by the kind that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import libcst as cst

from asyncguard.catalogue import Framework
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
    MAY_BE_NUMBER,
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
from asyncguard.lint.interpret.masks import NOTHING, as_mask
from asyncguard.lint.interpret.placement import (
    names_host,
    owner_on_host,
    placed,
)
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
    if callee.kind == MODEL and _runs_on_host(frame, callee, arguments):
        return HOST_VALUE
    result = _RESULTS.get(callee.kind)
    made = result(frame, callee, arguments) if result is not None else None
    if made is not None:
        return made
    return frame.analysis.named(callee.kind, callee.framework, frame.returned(name))


def _runs_on_host(frame: Frame, callee: Callee, arguments: Arguments) -> bool:
    """Whether options say that what is made runs on the host: `providers=["CPU..."]`, or none."""
    known = frame.analysis.knowledge.frameworks.get(callee.framework)
    if known is None or not known.on_host:
        return False
    given = [(a.value, known.on_host[a.keyword]) for a in arguments if a.keyword in known.on_host]
    return not any(a.stars for a in arguments) and all(
        value.is_none or _holds_only(value, words) for value, words in given
    )


def _holds_only(value: Value, words: tuple[str, ...]) -> bool:
    """Whether a list is known to hold nothing but some of these texts."""
    return value.items is not None and all(item.literal in words for item in value.items)


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
    told = any(a.keyword == "device" and names_host(a.value) for a in arguments)
    if made.kind == HOST_ARRAY and arguments and not told and _converts(frame, callee):
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
    if any(a.keyword == "device" and names_host(a.value) for a in arguments):
        return _masked(frame, Value(HOST_ARRAY, callee.framework), callee, arguments)
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
    name = "" if _is_surely_array(frame, callee, arguments) else MAY_BE_NUMBER
    made = Value(HOST_ARRAY, owner_on_host(frame, callee.framework), name=name)
    return _masked(frame, made, callee, arguments)


def _is_surely_array(frame: Frame, callee: Callee, arguments: Arguments) -> bool:
    """Whether a function in host memory gives an array, and not a number for a number."""
    knowledge = frame.analysis.knowledge
    framework = knowledge.frameworks[callee.framework]
    own = callee.name.startswith(tuple(f"{module}." for module in framework.modules))
    if not own or callee.framework != "numpy" or callee.last in framework.makes:
        return True
    whole = len(arguments) == 1 and callee.last in knowledge.reductions
    return not whole and any(
        a.value.kind == HOST_ARRAY and a.value.name != MAY_BE_NUMBER for a in arguments
    )


def _plain(frame: Frame, callee: Callee, arguments: Arguments) -> Value | None:
    where = frame.analysis.knowledge.device_functions.get(callee.name)
    if where is not None:
        return Value(HOST, name=callee.name, literal=where)
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
    known_of = frame.analysis.knowledge.frameworks[framework]
    uploads = known_of.asynchronous_cpu or known_of.on_device
    held = [first_device(argument.value) for argument in arguments]
    kinds = {value.kind for value in held}
    surest = _surest(held)
    if _stays(known_of, surest, arguments) or (not uploads and _of_numbers(arguments)):
        return device(framework, why) if _moves(frame, callee) else Value(HOST_ARRAY, framework)
    if surest is not None:
        if surest.confidence >= MEDIUM:
            return derived(surest, DEVICE, framework)
        return doubted(device(framework, why), Doubt.INFERRED)
    if DEVICE not in kinds and (not kinds or kinds - _NO_ARRAYS):
        return device(framework, why)
    made = unplaced(framework, why, _where_arguments_are(arguments))
    return made if uploads and DEVICE not in kinds else doubted(made, Doubt.INFERRED)


def _surest(held: Iterable[Value]) -> Value | None:
    """Return the device value that is most surely on the device, of those not placed anywhere."""
    placed = [v for v in held if v.kind == DEVICE and v.place is not Place.EITHER]
    return max(placed, key=lambda value: value.confidence, default=None)


def _moves(frame: Frame, callee: Callee) -> bool:
    """Whether a function puts what it is given on the device, whatever else is said."""
    points = frame.analysis.knowledge.sync_functions.get(callee.name, ())
    uploads = (point for point in points if point.kind == SyncKind.UPLOAD)
    return any(point.when is None or not point.when.keyword_present for point in uploads)


def _where_arguments_are(arguments: Arguments) -> Dependence:
    """Return what an array depends on that is made of parameters alone: it is where these are."""
    known = [part.params for argument in arguments for part in parts(argument.value)]
    return Dependence(unless_host=frozenset().union(*(p.on | p.unless_host for p in known)))


_NO_ARRAYS = frozenset({UNKNOWN, CONTAINER, HOST})


def _of_numbers(arguments: Arguments) -> bool:
    """Whether only host values are given, one of them declared as a number."""
    given = [a.value for a in arguments if not a.keyword]
    return all(v.kind == HOST for v in given) and any(v.name in NUMBERS for v in given)


def _stays(framework: Framework, surest: Value | None, arguments: Arguments) -> bool:
    """Whether something is computed in host memory: what else it is given is no device tensor."""
    if framework.asynchronous_cpu:
        return False
    listed = bool(arguments) and arguments[0].value.kind == CONTAINER  # all are in one place
    if surest is not None and surest.confidence >= (HIGH if listed else MEDIUM):
        return False
    arrays = [first_host_array(argument.value) for argument in arguments]
    return any(array is not None and array.framework == framework.name for array in arrays)
