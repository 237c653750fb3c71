"""What a call hands that rules out what its function does for other calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.dependence import Dependence, Word, together
from asyncguard.lint.domain.handed import Given
from asyncguard.lint.domain.parameters import Parameter
from asyncguard.lint.domain.reasons import MEDIUM, Doubt
from asyncguard.lint.domain.values import (
    ARRAYS,
    DEVICE,
    HOST,
    HOST_ARRAY,
    UNKNOWN,
    Role,
    Value,
)
from asyncguard.lint.interpret.arguments import (
    Constant,
    answers,
    constant_given,
    is_constant,
    is_on_host,
    may_be_omitted,
    stays_on_host,
)
from asyncguard.lint.interpret.presence import is_there
from asyncguard.lint.syntax.tree import dotted, word_of
from asyncguard.model import Loop


def ruling_out(
    frame: Frame, info: FunctionInfo, arguments: Arguments, bound: Mapping[int, Value]
) -> Dependence:
    """Return the parameters that are passed, or handed an array, where a read asks for that."""
    reads = frame.analysis.summary_for(info).reads
    asked = together(read.params for read in reads)
    return Dependence(
        when_omitted=frozenset(p for p in asked.when_omitted if _is_given_to(frame, bound.get(p))),
        where_omitted=frozenset(p for p in asked.where_omitted if _is_given(frame, bound.get(p))),
        unless_array=frozenset(p for p in asked.unless_array if _is_array(bound.get(p))),
        unless_plain=frozenset(
            p for p in asked.unless_plain if _is_plain(bound.get(p)) or answers(frame, bound.get(p))
        ),
        unless_there=frozenset(p for p in asked.unless_there if is_there(frame, bound.get(p))),
        unless_host=frozenset(p for p in asked.unless_host if stays_on_host(bound.get(p))),
        unless_entry=frozenset(p for p in asked.unless_entry if _is_entry(bound.get(p))),
        when_host=frozenset(p for p in asked.when_host if _is_host_array(frame, bound.get(p))),
    )


def constants(
    frame: Frame, info: FunctionInfo, arguments: Arguments, bound: Mapping[int, Value]
) -> Dependence:
    """Return the parameters that are handed constants, which may close branches."""
    known = [*_constants(frame, info, arguments, bound)]
    given = [(index, constant_given(constant)) for index, constant in known]
    return Dependence(
        when_true=frozenset(index for index, what in given if what & Given.FALSE),
        when_false=frozenset(index for index, what in given if what & Given.TRUE),
        when_given=frozenset(index for index, what in given if what & Given.ABSENT),
        words=frozenset((index, word) for index, word in known if _is_word(word)),
    )


def handed_on(
    frame: Frame, arguments: Arguments, bound: Mapping[int, Value]
) -> frozenset[tuple[int, int]]:
    """Return which parameters of its own a function hands on as they are, and as which."""
    own = frame.function.parameters
    named = {dotted(argument.node) for argument in arguments}
    found = ((value.params.only, index) for index, value in bound.items())
    return frozenset(
        (i, index) for i, index in found if i in range(len(own)) and own[i].name in named
    )


def _is_word(constant: Constant) -> TypeGuard[Word]:
    return type(constant) is str or type(constant) is int


def _constants(
    frame: Frame, info: FunctionInfo, arguments: Arguments, bound: Mapping[int, Value]
) -> Iterator[tuple[int, Constant]]:
    """Yield the parameters that a call hands constants, or leaves at theirs."""
    closed = not any(argument.stars for argument in arguments)
    for index, parameter in enumerate(info.parameters):
        value = bound.get(index)
        if value is not None and not _hands_on(frame, parameter, value):
            if is_constant(value):
                yield index, value.literal
        elif closed and _stays_at_default(info, parameter):
            yield from ((index, constant) for constant in _written(parameter.default))


def _written(default: cst.BaseExpression | None) -> Iterator[Constant]:
    """Yield the constant that a default is, if it is written out."""
    name = dotted(default) if default is not None else ""
    word = word_of(default)
    if name in _NAMED:
        yield _NAMED[name]
    elif word is not None:
        yield word


_NAMED: dict[str, Constant] = {"None": None, "False": False, "True": True}


def _hands_on(frame: Frame, parameter: Parameter, value: Value) -> bool:
    """Whether a function hands on a private option of its own: `f(x, _fast=_fast)`."""
    own = frame.function.parameters if frame.function is not None else ()
    index = value.params.only
    same = 0 <= index < len(own) and own[index].name == parameter.name
    return same and _is_private(parameter)


def _is_private(parameter: Parameter) -> bool:
    return parameter.name.startswith("_")


def _stays_at_default(info: FunctionInfo, parameter: Parameter) -> bool:
    """Whether a parameter that a call leaves out is what its default says.

    That of a function which frameworks or users enter as well is an option, unless it is private.
    """
    if parameter.default is None:
        return False
    return _is_private(parameter) or info.hook == Loop.NONE


def _is_host_array(frame: Frame, value: Value | None) -> bool:
    """Whether an argument is an array in host memory for sure: no batch that something moves."""
    if value is None or value.kind != HOST_ARRAY:
        return False
    moved = value.role is Role.BATCH and frame.analysis.places_batches
    return value.confidence >= MEDIUM and not moved


def _is_plain(value: Value | None) -> bool:
    """Whether an argument is a number or another plain object, and no array anywhere."""
    return value is not None and value.kind == HOST and is_on_host(value)


def _is_array(value: Value | None) -> bool:
    """Whether an argument is an array for sure, wherever it is."""
    return value is not None and value.kind in ARRAYS and value.confidence >= MEDIUM


def _is_entry(value: Value | None) -> bool:
    """Whether only the declaration of a dict says that an argument is no list."""
    return value is not None and value.role is Role.ENTRY


def _is_given(frame: Frame, value: Value | None) -> bool:
    """Whether an argument is surely not left out, by the caller's caller either."""
    if value is None or may_be_omitted(frame, value):
        return False
    if value.params.when_omitted:
        return True  # something is made for it where the caller is left without
    if value.kind == UNKNOWN:
        return value.params.only >= 0 and value.role is Role.NONE  # a parameter of the caller
    return not value.doubt & (Doubt.HOST_PATH | Doubt.ANOTHER_PATH)  # `None` there, maybe


def _is_given_to(frame: Frame, value: Value | None) -> bool:
    """Whether an argument is given, and not on the device, where a read of it waits as well."""
    return value is not None and value.kind != DEVICE and not may_be_omitted(frame, value)
