"""Matching the arguments of a call with parameters and with conditions of the catalogue."""

from __future__ import annotations

from fnmatch import fnmatchcase

from asyncguard.catalogue import Condition, SyncPoint
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.values import DEVICE, HOST, SYMBOL, UNKNOWN, Value
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted

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
    offset = 1 if owner is not None and info.has_self else 0
    bound: dict[int, Value] = {}
    if offset and owner is not None:
        bound[0] = owner
    index = {parameter.name: i for i, parameter in enumerate(info.parameters)}
    position = offset
    for argument in arguments:
        if argument.keyword:
            at = index.get(argument.keyword)
        elif argument.stars:
            continue
        else:
            at = min(position, len(info.parameters) - 1) if info.parameters else None
            if at is not None and at != position and info.parameters[at].stars != 1:
                at = None
            position += 1
            for i, parameter in enumerate(info.parameters):
                if parameter.stars == 1 and position - 1 >= i:
                    at = i
        if at is not None:
            before = bound.get(at)
            bound[at] = (
                argument.value if before is None else either_argument(before, argument.value)
            )
    return bound


def either_argument(left: Value, right: Value) -> Value:
    """Return the one of several `*args` that matters: a device value."""
    return right if right.kind == DEVICE and left.kind != DEVICE else left


def argument_params(arguments: Arguments) -> frozenset[int]:
    return frozenset().union(*(a.value.params for a in arguments if a.value.kind == UNKNOWN))


_SIZE = family("value.size")


def is_size(argument: Argument) -> bool:
    """Whether an argument is a number, or one by its name."""
    last = dotted(argument.node).rpartition(".")[2]
    return argument.value.kind == HOST or _SIZE(last)


def selected_arguments(wanted: tuple[int | str, ...], arguments: Arguments) -> list[Argument]:
    if -1 in wanted:
        return [argument for argument in arguments if argument.keyword != "out"]  # it is written
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
    return point.unless is None or not condition_holds(frame, point.unless, arguments)


def condition_holds(frame: Frame, condition: Condition, arguments: Arguments) -> bool:
    """Whether every part of a catalogue condition that is given holds for these arguments."""
    keywords = {a.keyword: a.value for a in arguments if a.keyword}
    positional = sum(1 for a in arguments if not a.keyword and not a.stars)
    words = [_word(a.value) for a in arguments]
    where = ("device",) if "device" in keywords else ("",)
    chosen = [_word(a.value) for a in arguments if a.keyword in where] or words
    checks = (
        (condition.keyword_true, any(_maybe(keywords, k, True) for k in condition.keyword_true)),
        (
            condition.flag,
            any(_maybe(keywords, k, True) for k in condition.flag) or _first_flag(arguments),
        ),
        (condition.keyword_false, any(_maybe(keywords, k, False) for k in condition.keyword_false)),
        (
            condition.keyword_present,
            any(k in keywords and not keywords[k].is_none for k in condition.keyword_present),
        ),
        (condition.keyword_absent, not any(k in keywords for k in condition.keyword_absent)),
        (condition.positional, positional in condition.positional),
        (
            condition.positional_at_least is not None,
            positional >= (condition.positional_at_least or 0),
        ),
        (condition.argument_in, any(_matches(w, condition.argument_in) for w in words)),
        (
            condition.argument_not_in,
            not all(_matches(w, condition.argument_not_in) for w in chosen),
        ),
    )
    return all(holds for given, holds in checks if given)


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
