"""Binding the targets of assignments, loops and walrus expressions."""

from __future__ import annotations

from typing import Any

import libcst as cst

from asyncguard.lint.contexts.frame import Frame, evaluate
from asyncguard.lint.contexts.iteration import element_of, unpacked
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.values import CONTAINER, Value, container
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


def rebind(frame: Frame, node: cst.BaseExpression, value: Value) -> None:
    """Note what has become of what an expression names: a variable, or an element of a container.

    `kept[i].append(x)` changes what `kept` holds.
    """
    if path := dotted(node):
        frame.bind(path, value)
    elif type(node) is cst.Subscript:
        with frame.speculation():
            owner = evaluate(frame, node.value)
        if owner.kind == CONTAINER:
            rebind(frame, node.value, holding(owner, _key(node), value))


def _key(node: cst.Subscript) -> str:
    """Return the word that an element is found by; "" if it is found by something else."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    key = index.value if type(index) is cst.Index else None
    return str(key.raw_value) if type(key) is cst.SimpleString else ""


def holding(owner: Value, key: str, value: Value) -> Value:
    """Return a container that holds one more value, under its key if it has one."""
    if key and owner.fields:
        return owner._replace(fields=owner.fields.put(key, value))
    element = value if owner.element is None else join(owner.element, value)
    return owner._replace(element=element, items=None)
