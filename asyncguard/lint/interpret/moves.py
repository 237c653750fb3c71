"""What a function moves to the device for its callers, within what they hand it.

`for key in batch: batch[key] = batch[key].to(device)`, and `self.x = self.x.to(device)`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.reasons import MEDIUM, Provenance
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    device,
    literal,
)
from asyncguard.lint.interpret.arguments import bind_arguments
from asyncguard.lint.interpret.narrowing import own_parameter
from asyncguard.lint.syntax.tree import dotted

ENTRIES = ""  # all that a dict holds; else the name of an attribute


def note_moved_entries(frame: Frame, path: str, value: Value) -> None:
    """Note that an entry of an argument is replaced by what was moved to the device."""
    index = own_parameter(frame, path) if value.role is Role.MOVED else -1
    if index >= 0:
        frame.moved.add((index, ENTRIES, value.framework))


def note_moved_attribute(frame: Frame, path: str, value: Value) -> None:
    """Note that an attribute of the instance is replaced by what was moved to the device."""
    owner, _, name = path.partition(".")
    moved = value.kind == DEVICE and value.why.kind is Provenance.MOVED
    if moved and owner == "self" and frame.function.has_self and "." not in name:
        frame.moved.add((0, name, value.framework))


def note_moved_by_call(
    frame: Frame,
    node: cst.Call,
    info: FunctionInfo,
    arguments: Arguments,
    moved: Collection[tuple[int, str, str]],
) -> dict[int, Value]:
    """Note what a call has moved of what it was handed; return what has become of its arguments."""
    changed: dict[int, Value] = {}
    if not moved:
        return changed
    paths = handed_paths(node, info, arguments)
    for index, name, framework in sorted(moved):
        path = paths.get(index, "self")
        if path == "self":
            continue
        why = frame.reason(Provenance.MOVED, f"`{info.name}` moves it to a device")
        there = device(framework, why)
        if name:
            frame.note(f"{path}.{name}", there)
        elif _holds_others(frame.lookup(path) or UNKNOWN_VALUE):
            changed[index] = container(there)._replace(role=Role.DICT)
            frame.note(path, changed[index])
    return changed


def moved_dict(result: Value, moved: Mapping[int, Value]) -> Value | None:
    """Return the dict whose entries a call has moved, if it gives that back; else None."""
    if result.kind != CONTAINER or result.role is not Role.DICT:
        return None
    return next((moved[index] for index in sorted(result.params.on) if index in moved), None)


def handed_paths(node: cst.Call, info: FunctionInfo, arguments: Arguments) -> dict[int, str]:
    """Return the variables and attributes that a call hands over, by parameter."""
    owner = dotted(node.func.value) if type(node.func) is cst.Attribute else ""
    named = [a._replace(value=literal(dotted(a.node))) for a in arguments]
    bound = bind_arguments(info, named, literal(owner))
    return {index: str(path.literal) for index, path in bound.items() if path.literal}


def _holds_others(known: Value) -> bool:
    """Whether it is not known that a dict holds device values; its keys are not known either."""
    if known.kind == CONTAINER:
        return not known.fields and known.items is None
    return known.kind == UNKNOWN or known.role is Role.BATCH or known.confidence < MEDIUM
