"""Matching the arguments of a call with parameters and with conditions of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from asyncguard.catalogue import Condition, SyncPoint
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.contexts.passing import functions_in
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.definitions import FunctionInfo, function_of
from asyncguard.lint.domain.dependence import Dependence, together
from asyncguard.lint.domain.handed import ANYTHING, Given, Handed
from asyncguard.lint.domain.reasons import MEDIUM, Provenance
from asyncguard.lint.domain.values import (
    ARRAYS,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    NONE_VALUE,
    START_VALUES,
    SYMBOL,
    UNKNOWN,
    Role,
    Value,
)
from asyncguard.lint.interpret.presence import is_there
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import SyncKind

DEVICE_NAME = family("device.named")


def last(name: str) -> str:
    """Return the last part of a dotted name."""
    return name.rpartition(".")[2]


def any_device(arguments: Arguments) -> bool:
    """Whether a device value is handed over."""
    return any(first_device(a.value).kind == DEVICE for a in arguments)


def bind_arguments(
    info: FunctionInfo, arguments: Arguments, owner: Value | None
) -> dict[int, Value]:
    """Match arguments with parameters, by position and keyword."""
    bound: dict[int, Value] = {}
    position = 0
    if owner is not None and info.has_self:
        bound[0] = owner
        position = 1
    index = {parameter.name: i for i, parameter in enumerate(info.parameters)}
    for argument in arguments:
        at = index.get(argument.keyword) if argument.keyword else None
        if not argument.keyword and not argument.stars:
            at = _at_position(info, position)
            position += 1
        if at is not None:
            before = bound.get(at)
            given = argument.value
            bound[at] = given if before is None else either_argument(before, given)
    return bound


def may_be_omitted(frame: Frame, value: Value) -> bool:
    """Whether an argument is `None`, or may be, as its caller's caller may leave it out.

    Not where something else is made for it then: `if p is None: p = make()`.
    """
    if value == NONE_VALUE:
        return True
    own = frame.function.parameters if frame.function is not None and value.params else ()
    left = value.params.on - value.params.when_omitted
    return any(own[p].may_be_none for p in left if p < len(own))


def handed(frame: Frame, arguments: Arguments) -> Handed:
    """Return what a call by name hands, for whichever function it means."""
    if frame.speculative:
        return ANYTHING
    return Handed(
        tuple(_given(frame, a) for a in arguments if not (a.keyword or a.stars)),
        tuple(sorted((a.keyword, _given(frame, a)) for a in arguments if a.keyword)),
        any(a.stars for a in arguments),
    )


def is_on_host(value: Value) -> bool:
    """Whether a value is, or holds, an array in host memory, and none on the device.

    Or a number that was read before, but none that stands for anything: `None`, 0. Or a tuple of
    such numbers.
    """
    if value.kind == HOST:
        return value.role not in START_VALUES
    if value.items and all(item.kind == HOST for item in value.items):
        return any(map(is_on_host, value.items))
    return first_host_array(value) is not None and first_device(value).kind != DEVICE


def first_host_array(value: Value) -> Value | None:
    if value.kind == HOST_ARRAY:
        return value
    if value.kind == CONTAINER and value.items is not None:
        return next(filter(None, map(first_host_array, value.items)), None)
    if value.kind == CONTAINER and value.element is not None:
        return first_host_array(value.element)
    return None


def stays_on_host(value: Value | None) -> bool:
    """Whether an argument is in host memory for good, or what it holds: no batch, nor its parts.

    Of NumPy's arrays, other frameworks make arrays of their own, which may be on the device.
    """
    array = first_host_array(value) if value is not None and is_on_host(value) else None
    if array is None or array.role is Role.BATCH or array.framework == "numpy":
        return False
    return array.confidence >= MEDIUM and array.why.kind not in _OF_LOADERS


_OF_LOADERS = frozenset({Provenance.LOADER, Provenance.HOT_NAME, Provenance.NAME})
_SWITCH = family("value.switch")


def _given(frame: Frame, argument: Argument) -> Given:
    value = argument.value
    given = constant_given(value.literal) if is_constant(value) else Given.UNKNOWN
    if answers(frame, value):
        return Given.ON_HOST
    if value.kind in (UNKNOWN, HOST) and _SWITCH(dotted(argument.node).rpartition(".")[2]):
        return Given.ON_HOST
    if may_be_omitted(frame, value):
        given |= Given.OMITTED
    if value.kind in ARRAYS and value.confidence >= MEDIUM:
        given |= Given.ARRAY
    if stays_on_host(value):
        given |= Given.STAYS
    if is_there(frame, value):
        given |= Given.THERE
    moved = frame.analysis.places_batches and value.kind != HOST  # before it is handed, maybe
    if is_on_host(value) and not moved:
        given |= Given.ON_HOST
    return given


def answers(frame: Frame, value: Value | None) -> bool:
    """Whether an argument is or holds functions of checked code that return plain objects."""
    if value is None:
        return False
    functions = [function_of(value)] if value.kind == FUNCTION else [*functions_in(value)]
    results = [frame.analysis.summary_for(info).result for info in functions]
    return bool(results) and all(result.kind == HOST for result in results)


Constant = str | int | float | bool | None


def is_constant(value: Value) -> bool:
    """Whether an argument is a constant, which is `value.literal` then."""
    return value.is_none or (value.kind == HOST and value.literal is not None)


def constant_given(constant: Constant) -> Given:
    """Return whether a constant that is handed is true, or `None`."""
    if constant is None:
        return Given.FALSE | Given.ABSENT
    return Given.TRUE if constant else Given.FALSE


def _at_position(info: FunctionInfo, position: int) -> int | None:
    """Return the parameter that takes an argument by its position; `*args` takes all from it on."""
    starred = [i for i, parameter in enumerate(info.parameters) if parameter.stars == 1]
    if starred and position >= starred[-1]:
        return starred[-1]
    return position if position < len(info.parameters) else None


def either_argument(left: Value, right: Value) -> Value:
    """Return the one of several `*args` that matters: a device value."""
    return right if right.kind == DEVICE and left.kind != DEVICE else left


def argument_params(arguments: Arguments) -> Dependence:
    return together(a.value.params for a in arguments if a.value.kind == UNKNOWN)


_UNREAD = frozenset({"out", "device", "dtype"})  # written, or no array


def selected_arguments(wanted: tuple[int | str, ...], arguments: Arguments) -> list[Argument]:
    if -1 in wanted:
        return [argument for argument in arguments if argument.keyword not in _UNREAD]
    chosen = []
    position = 0
    for argument in arguments:
        if argument.keyword:
            if argument.keyword in wanted:
                chosen.append(argument)
        else:
            if position in wanted:
                chosen.append(argument)
            position += 1
    return chosen


def conditions_hold(frame: Frame, point: SyncPoint, arguments: Arguments) -> bool:
    if point.when is not None and not condition_holds(frame, point.when, arguments):
        return False
    if point.kind == SyncKind.UPLOAD and _goes_unwaited(frame, arguments):
        return False
    return point.unless is None or not condition_holds(frame, point.unless, arguments)


def _goes_unwaited(frame: Frame, arguments: Arguments) -> bool:
    """Whether an argument is a device to which copies wait for nothing, by its kind."""
    unwaited = frame.analysis.knowledge.catalogue.unwaited
    return any(_word(a.value).partition(":")[0] in unwaited for a in arguments)


def condition_holds(frame: Frame, condition: Condition, arguments: Arguments) -> bool:
    """Whether every part of a catalogue condition that is given holds for these arguments."""
    return all(
        holds(getattr(condition, part), arguments)
        for part, holds in _PARTS.items()
        if getattr(condition, part) not in ((), None)
    )


Words = tuple[str, ...]


def _keywords(arguments: Arguments) -> dict[str, Value]:
    return {a.keyword: a.value for a in arguments if a.keyword}


def _positional(arguments: Arguments) -> int:
    return sum(1 for a in arguments if not a.keyword and not a.stars)


def _is_true(keywords: Words, arguments: Arguments) -> bool:
    return any(_maybe(_keywords(arguments), keyword, True) for keyword in keywords)


def is_told(flags: Words, arguments: Arguments) -> bool:
    """Whether one of these flags is given and true for certain, by its name or by position."""
    named = any(a.keyword in flags and a.value.literal is True for a in arguments if a.keyword)
    return named or _first_flag(arguments)


def _is_flagged(keywords: Words, arguments: Arguments) -> bool:
    return _is_true(keywords, arguments) or _first_flag(arguments)


def _is_false(keywords: Words, arguments: Arguments) -> bool:
    return any(_maybe(_keywords(arguments), keyword, False) for keyword in keywords)


def _is_present(keywords: Words, arguments: Arguments) -> bool:
    return any(a.keyword in keywords and not a.value.is_none for a in arguments if a.keyword)


def _is_absent(keywords: Words, arguments: Arguments) -> bool:
    return not any(a.keyword in keywords for a in arguments if a.keyword)


def _is_among(patterns: Words, arguments: Arguments) -> bool:
    return any(_matches(_word(a.value), patterns) for a in arguments)


def _is_not_among(patterns: Words, arguments: Arguments) -> bool:
    """Whether no argument, or not the one that names a device, is among these."""
    where = "device" if any(a.keyword == "device" for a in arguments) else ""
    chosen = [a for a in arguments if a.keyword == where] or arguments
    return not all(_matches(_word(a.value), patterns) for a in chosen)


def _is_made_with(keywords: Words, arguments: Arguments) -> bool:
    return any(a.value.kind == "optimizer" and a.value.name in keywords for a in arguments)


_PARTS: Mapping[str, Callable[[Any, Arguments], bool]] = {
    "keyword_true": _is_true,
    "flag": _is_flagged,
    "keyword_false": _is_false,
    "keyword_present": _is_present,
    "keyword_absent": _is_absent,
    "made_with": _is_made_with,
    "positional": lambda counts, arguments: _positional(arguments) in counts,
    "positional_at_least": lambda least, arguments: _positional(arguments) >= least,
    "argument_in": _is_among,
    "argument_not_in": _is_not_among,
}


def _first_flag(arguments: Arguments) -> bool:
    """Whether the first literal True or False that is given by position is True."""
    given = (a.value.literal for a in arguments if not a.keyword)
    return next((literal for literal in given if isinstance(literal, bool)), False)


def _maybe(keywords: dict[str, Value], keyword: str, wanted: bool) -> bool:
    """Whether a keyword is the wanted literal, or may be."""
    if keyword not in keywords:
        return False
    value = keywords[keyword].literal
    return value is wanted or (value is None and wanted and not keywords[keyword].is_none)


def _word(value: Value) -> str:
    """Return what stands for an argument in conditions: a string's text or a dotted name."""
    if isinstance(value.literal, str):
        return value.literal
    return value.name if value.kind == SYMBOL else ""


def _matches(word: str, patterns: tuple[str, ...]) -> bool:
    return bool(word) and any(fnmatchcase(word, pattern) for pattern in patterns)
