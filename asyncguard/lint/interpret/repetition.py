"""Loops. The body runs twice: silently first, to learn what its variables become and what
kind of loop it is, then once more to note sites.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from asyncguard.lint.contexts import iteration, loops
from asyncguard.lint.contexts.frame import Frame, Statements, evaluate
from asyncguard.lint.contexts.variables import Fork, Round
from asyncguard.lint.domain.loops import LoopRecord
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    HOST_VALUE,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
)
from asyncguard.lint.interpret import builtin_calls
from asyncguard.lint.interpret.blocks import suite
from asyncguard.lint.interpret.narrowing import narrow, truth
from asyncguard.lint.interpret.protocols import protocol_site
from asyncguard.lint.interpret.stores import store


def for_(frame: Frame, node: cst.For) -> bool:
    """A loop over something: the first pass learns, the second notes."""
    iterable = builtin_calls.opened(frame, evaluate(frame, node.iter))
    if iterable.kind == DEVICE:
        protocol_site(frame, "__iter__", node.iter, iterable)
    element = iteration.loop_element(frame, iterable)
    unsure = iterable.kind in (DEVICE, UNKNOWN, "loader")
    if unsure and loops.goes_over_keys(node.iter, node.target, node.body):
        iterable, element = UNKNOWN_VALUE, HOST_VALUE
    record = loops.for_record(frame, node, iterable)
    # A loop over a few device values (the losses of several devices) is part of one step.
    held = element.kind == DEVICE or iterable.role == Role.PAIRS
    record.transparent |= iterable.kind == CONTAINER and held

    def body() -> bool:
        store(frame, node.target, element)
        return suite(frame, node.body)

    _loop(frame, record, body)
    if node.orelse is not None:
        suite(frame, node.orelse.body)
    return True


def while_(frame: Frame, node: cst.While) -> bool:
    """A `while` loop reads its test each time."""
    record = loops.while_record(frame, node)

    def body() -> bool:
        truth(frame, node.test)
        narrow(frame, node.test, True)
        return suite(frame, node.body)

    _loop(frame, record, body)
    if node.orelse is not None:
        suite(frame, node.orelse.body)
    return True


def _loop(frame: Frame, record: LoopRecord, body: Callable[[], bool]) -> None:
    record.asked = frame.nest.asked.shapes
    frame.loops.append(record)
    with frame.env.fork() as fork:
        if not frame.speculative:
            frame.differs = True  # its second pass may give attributes more than a speculative run
            with frame.speculation():
                _round(frame, fork, body)
        _round(frame, fork, body)
    frame.nest.leave()


def _round(frame: Frame, fork: Fork, body: Callable[[], bool]) -> None:
    """Run a loop's body, from its start to its end or to wherever it is left."""
    frame.rounds.append(Round(fork, []))
    body()
    changes = frame.rounds.pop().end()
    frame.nest.carries(path for path in changes if path in frame.env)
    fork.apply(changes)


STATEMENTS: Statements = {
    cst.For: for_,
    cst.While: while_,
}
