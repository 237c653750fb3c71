"""What a function of the checked code reads of its arguments, as its calls hand them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst

from asyncguard.lint.contexts.effects import note_site
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.definitions import Site
from asyncguard.lint.domain.parameters import Parameter
from asyncguard.lint.domain.reasons import HIGH, MEDIUM, Doubt
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    EACH,
    MEMBER,
    NUMBERS,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    doubted,
)
from asyncguard.lint.interpret import structures
from asyncguard.lint.interpret.reads import as_handed, as_number, may_be_read, surest, translate
from asyncguard.lint.syntax.tree import walk
from asyncguard.model import Loop, SyncKind


def reads_of_call(
    frame: Frame,
    node: cst.Call,
    reads: Sequence[Site],
    bound: dict[int, Value],
    handed_on: Collection[tuple[int, int]],
) -> None:
    """Note a site at the call for each read of an argument that is a device value here.

    What it hangs on of the options that the caller hands on as they are, hangs on the caller's.
    """
    own = [(theirs, index) for index, theirs in handed_on]
    for read in reads:
        stands = read.context.loop == Loop.STEP and not read.if_handed  # it is reported there
        if read.context.guarded or stands or read.params.when_host:
            continue
        handed = (_handed_for(read, bound.get(p, UNKNOWN_VALUE)) for p in sorted(read.params.on))
        value = surest([value for value in handed if may_be_read(value)])
        if value is None:
            continue
        point = translate(frame.analysis.knowledge, read.point, value.framework)
        if point is not None:
            sink, whole = read.sink, read.whole
            with frame.guarded(None, read.params.options.renamed(own)):
                note_site(frame, point, node, value, sink=sink, whole=whole, via=read, subject=node)


def _handed_for(read: Site, value: Value) -> Value:
    """Return what a call hands for a parameter that is read, as far as that may wait.

    Only what is an array for sure is one in spite of a declaration that it is a number.
    """
    value = _part_of(as_handed(value), read.entry)
    held = as_number(first_device(value))
    if held.kind == DEVICE and (held.doubt or held.confidence < MEDIUM):
        value = UNKNOWN_VALUE if _is_of_number(read) else value
    if not read.whole:
        value = first_device(value)
    elif value.role == Role.MODEL_OUTPUT and not read.compared:
        # It may as well be a dict or a tuple of device values.
        value = doubted(value, Doubt.MAY_HOLD)
    unsure = value.role in _MAYBE_TEXT and value.confidence < HIGH
    text = read.point.kind == SyncKind.TEXT and unsure
    return UNKNOWN_VALUE if text else value


def _part_of(value: Value, entry: str) -> Value:
    """Return the entry or attribute of an argument that is read, as far as it is known."""
    if value.kind == UNKNOWN:
        return value._replace(name=value.name + entry) if entry and value.params else value
    if entry and value.role is Role.UNPLACED:
        return UNKNOWN_VALUE  # an array by its use alone, which has no such parts
    for step in entry.split(".")[1:]:
        key = step.removeprefix(MEMBER)
        part = None
        if value.kind == CONTAINER:
            part = _held(value, step) if step[0] == EACH else structures.entry(value, key)
        if part is None:
            # Arrays that a tuple holds have no attributes of their own.
            return UNKNOWN_VALUE if key != step and _holds_listed(value) else value
        value = part
    return value


def _held(value: Value, step: str) -> Value | None:
    """Return what a container holds at a place, or on the device if at any; None if not known."""
    at = int(step.removeprefix(EACH) or -1)
    if value.items is not None and 0 <= at < len(value.items):
        return value.items[at]
    held = value.items or ((value.element,) if value.element is not None else ())
    there = (part for part in held if first_device(part).kind == DEVICE)
    return next(there, next(iter(held), None))


def _holds_listed(value: Value) -> bool:
    """Whether a value is a tuple or list that is written out, or goes over some."""
    while value.kind == CONTAINER and value.items is None and value.element is not None:
        value = value.element
    return value.kind == CONTAINER and value.items is not None


def _is_of_number(read: Site) -> bool:
    """Whether a function on the way to a read declares that what is read is a number."""
    around: Site | None = read
    while around is not None:
        parameters = around.function.parameters
        read_of = (parameters[i] for i in around.params.on if i < len(parameters))
        if any(map(_is_declared_number, read_of)):
            return True
        around = around.via
    return False


def _is_declared_number(parameter: Parameter) -> bool:
    """Whether a parameter is declared to be a number, or to hold some."""
    declared = parameter.annotation
    if declared is None:
        return False
    names = (node.value for node in walk(declared) if type(node) is cst.Name)
    return not NUMBERS.isdisjoint(names)


_MAYBE_TEXT = frozenset({Role.MODEL_OUTPUT, Role.NAME_INFERRED})
