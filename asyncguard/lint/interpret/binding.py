"""Binding the targets of assignments, loops and walrus expressions."""

from __future__ import annotations

from typing import Any

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import element_of, unpacked
from asyncguard.lint.domain.values import Value, container
from asyncguard.lint.syntax.tree import dotted

# Kinds of nodes, by their exact types: `isinstance` is slow for classes with an ABC as base.
SEQUENCES = frozenset({cst.Tuple, cst.List})


def bind_target(frame: Frame, target: Any, value: Value) -> None:
    """Assign `value` to a target without noting sites of the target itself."""
    if type(target) is cst.Name:
        frame.bind(target.value, value)
        return
    if type(target) in SEQUENCES:
        elements = target.elements
        if any(type(e) is cst.StarredElement for e in elements):
            each = element_of(frame, value)
            for e in elements:
                starred = type(e) is cst.StarredElement
                bind_target(frame, e.value, container(each) if starred else each)
            return
        for e, v in zip(elements, unpacked(frame, value, len(elements)), strict=True):
            bind_target(frame, e.value, v)
        return
    if type(target) is cst.StarredElement:
        bind_target(frame, target.value, container(element_of(frame, value)))
    elif path := dotted(target):
        frame.bind(path, value)
