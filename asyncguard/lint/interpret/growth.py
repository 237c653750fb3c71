"""What a function adds to the lists and dicts that its callers hand it.

`def update(loss, losses): losses.append(loss)`, and `log["loss"] = loss`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.values import CONTAINER, UNKNOWN, Role, Value, widened
from asyncguard.lint.interpret.narrowing import own_parameter
from asyncguard.lint.syntax.tree import dotted


def note_added(frame: Frame, node: cst.BaseExpression, key: str, value: Value) -> None:
    """Note what is put into an argument, under a key if that is a word, for who handed it."""
    path = "" if frame.speculative or value.role is Role.MOVED else dotted(node)
    if path:
        _note(frame, path, key, value)


def _note(frame: Frame, path: str, key: str, value: Value) -> None:
    at = own_parameter(frame, path), key
    if at[0] >= 0 and (key or value.kind != UNKNOWN or value.params):
        before = frame.added.get(at)
        frame.added[at] = widened(value if before is None else join(before, value))


def note_added_by_call(
    frame: Frame, handed: Mapping[int, str], added: Iterable[tuple[int, str, Value]]
) -> None:
    """Note what a call has put into what it was handed: variables and attributes, by parameter."""
    for index, key, value in added:
        path = handed.get(index, "")
        known = frame.env.get(path)
        if not frame.speculative:
            _note(frame, path, key, value)
        if known is not None and known.kind == CONTAINER:
            element = value if known.element is None else join(known.element, value)
            fields = known.fields.put(key, value) if key else known.fields
            frame.bind(path, known._replace(element=element, items=None, fields=fields))
