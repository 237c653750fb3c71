"""Comprehensions: loops that collect."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.copies import COPIES
from asyncguard.lint.contexts.frame import Expressions, Frame, evaluate
from asyncguard.lint.contexts.iteration import loop_element, source_of
from asyncguard.lint.contexts.loops import goes_over_keys, names_batches, shape_of
from asyncguard.lint.domain.loops import LoopRecord
from asyncguard.lint.domain.values import (
    DEVICE,
    HOST_VALUE,
    Role,
    Value,
    container,
    with_role,
)
from asyncguard.lint.interpret.binding import bind_target
from asyncguard.lint.interpret.narrowing import narrow, truth


def comprehension(frame: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> Value:
    """A comprehension is a loop that collects."""
    role = Role.SET if type(node) is cst.SetComp else Role.NONE
    return with_role(container(_comprehend(frame, node.for_in, node.elt)), role)


def dict_comprehension(frame: Frame, node: cst.DictComp) -> Value:
    """A dict comprehension collects its values."""
    return container(_comprehend(frame, node.for_in, node.value, node.key))._replace(role=Role.DICT)


def _comprehend(frame: Frame, clause: cst.CompFor, *elements: cst.BaseExpression) -> Value:
    opened = 0
    current: cst.CompFor | None = clause
    with frame.env.fork() as fork:
        while current is not None:
            opened += 1
            open_comprehension_loop(frame, current, *elements)
            for condition in current.ifs:
                truth(frame, condition.test)
                narrow(frame, condition.test, True)
            current = current.inner_for_in
        results = [evaluate(frame, element) for element in elements]
        changes = fork.take()
    if COPIES in changes:  # the variables of a comprehension are its own, what it starts is not
        fork.apply({COPIES: changes[COPIES]})
    for _ in range(opened):
        frame.nest.note_batches(frame.loops.pop())
    return results[0]


def open_comprehension_loop(
    frame: Frame, clause: cst.CompFor, *elements: cst.BaseExpression
) -> None:
    """Bind a `for` clause's targets and push its loop."""
    iterable = evaluate(frame, clause.iter)
    origin = source_of(iterable)
    record = LoopRecord(
        clause,
        shape=shape_of(frame, origin)._replace(names_batches=names_batches(clause.iter)),
        comprehension=True,
        transparent=True,
        line=frame.line(),
        source=origin.why if origin.kind == "loader" else None,
    )
    frame.loops.append(record)
    element = loop_element(frame, iterable)
    if iterable.kind == DEVICE and goes_over_keys(clause.iter, clause.target, *elements):
        element = HOST_VALUE
    bind_target(frame, clause.target, element)


EXPRESSIONS: Expressions = {
    cst.ListComp: comprehension,
    cst.SetComp: comprehension,
    cst.GeneratorExp: comprehension,
    cst.DictComp: dict_comprehension,
}
