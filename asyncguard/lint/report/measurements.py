"""Measurements of a function: `t = clock()`, and `clock() - t` further down.

What stands between two clock reads is looked up in indices of the function's events, which are made
once for each list of statements.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.domain.definitions import Event, FunctionInfo
from asyncguard.lint.domain.loops import LoopRecord
from asyncguard.lint.domain.work import Work
from asyncguard.lint.report.may_block import Waits
from asyncguard.lint.report.statement_order import suite, walk_own
from asyncguard.lint.syntax.tree import children, dotted, walk
from asyncguard.model import Loop

Body = Sequence[cst.CSTNode]


class Stretch(NamedTuple):
    """Two clock reads of one measurement, and the list of statements that both stand in."""

    start: int
    stop: int
    clock: Event
    body: Body


class Enqueued(NamedTuple):
    """The work that the statements of a list enqueue."""

    last: Mapping[int, Event]  # of each statement that does, by index
    indices: Sequence[int]  # these, sorted
    epochs: Sequence[int]  # those with a loop over steps in them


class Measurements:
    """The measurements of one function.

    `is_work` tells which events are worth measuring; a statement that names one of `waiting`
    methods may wait.
    """

    def __init__(
        self, info: FunctionInfo, is_work: Callable[[Event], bool], waiting: set[str], waits: Waits
    ) -> None:
        self.info = info
        self.waiting = waiting
        self.waits = waits
        self.clocks = [event for event in info.final.events if event.what == "clock"]
        self._is_work = is_work
        self._enqueued: dict[tuple[int, int], Enqueued] = {}
        self._naming: dict[int, list[int]] = {}

    def stretches(self) -> Iterator[Stretch]:
        """Yield the measurements that may tell the time of work."""
        if len(self.clocks) < 2:
            return
        for clock in self.clocks:
            place = suite(clock.blocks)
            if place is None or any(map(_is_training, clock.loops)):
                continue
            body, stop = place
            if _adds_up(body[stop]):
                continue
            known = (
                self._starts.get((id(body), name), []) for name in self._compared(clock, body[stop])
            )
            before = ((indices, bisect_left(indices, stop)) for indices in known)
            starts = [indices[count - 1] for indices, count in before if count]
            if starts:
                yield Stretch(max(starts), stop, clock, body)

    @cached_property
    def _starts(self) -> dict[tuple[int, str], list[int]]:
        """Where a clock's reading is assigned, by the list of statements and the variable."""
        found: dict[tuple[int, str], list[int]] = {}
        for clock in self.clocks:
            if (place := suite(clock.blocks)) is not None:
                body, index = place
                for name in _stored(body[index], clock.node):
                    found.setdefault((id(body), name), []).append(index)
        for indices in found.values():
            indices.sort()
        return found

    @cached_property
    def _subtracted(self) -> tuple[dict[int, set[str]], dict[str, set[str]]]:
        """What is subtracted, by the id and by the name of what it is subtracted from.

        Differences that are added to a sum are left out.
        """
        own = list(walk_own(self.info.node))
        sums = {id(node.value) for node in own if type(node) is cst.AugAssign}
        by_node: dict[int, set[str]] = {}
        by_name: dict[str, set[str]] = {}
        for node in own:
            if type(node) is cst.BinaryOperation and type(node.operator) is cst.Subtract:
                name = dotted(node.right)
                if name and id(node) not in sums:
                    by_node.setdefault(id(node.left), set()).add(name)
                    by_name.setdefault(dotted(node.left), set()).add(name)
        return by_node, by_name

    def _compared(self, clock: Event, statement: cst.CSTNode) -> set[str]:
        """Return the variables whose start this clock read is compared with."""
        by_node, by_name = self._subtracted
        found = set(by_node.get(id(clock.node), ()))
        return found.union(*(by_name.get(end, ()) for end in _stored(statement, clock.node)))

    def last_work(self, stretch: Stretch) -> Event | None:
        """Return the last work that is enqueued within a measurement, if nothing waits for it."""
        enqueued = self._work_in(stretch.body, len(stretch.clock.loops))
        if _any_between(enqueued.epochs, stretch.start + 1, stretch.stop - 1):
            return None  # a whole epoch: its last step makes no difference
        before = bisect_left(enqueued.indices, stretch.stop)
        last = enqueued.indices[before - 1] if before else -1
        if last <= stretch.start:
            return None
        if _any_between(self._naming_waits(stretch.body), last, stretch.stop):
            return None
        waits = self.waits.between(self.info, stretch.body, last, stretch.stop)
        return None if waits else enqueued.last[last]

    def _work_in(self, body: Body, depth: int) -> Enqueued:
        """Return the work of a list of statements, which stands in so many loops."""
        key = id(body), depth
        if key not in self._enqueued:
            events = self._work.get(id(body), [])
            loops = ((index, event.loops[depth:]) for index, event in events)
            epochs = {i for i, inner in loops if any(map(_has_steps, inner))}
            last = dict(events)
            self._enqueued[key] = Enqueued(last, sorted(last), sorted(epochs))
        return self._enqueued[key]

    @cached_property
    def _work(self) -> dict[int, list[tuple[int, Event]]]:
        """The events worth measuring, with their statements, by the lists that these stand in."""
        found: dict[int, list[tuple[int, Event]]] = {}
        for event in filter(self._is_work, self.info.final.events):
            for body, index in event.blocks:
                found.setdefault(id(body), []).append((index, event))
        return found

    def _naming_waits(self, body: Body) -> list[int]:
        """Return the statements that name a method that waits, be it in a lambda."""
        if id(body) not in self._naming:
            self._naming[id(body)] = [i for i, one in enumerate(body) if self._names_a_wait(one)]
        return self._naming[id(body)]

    def _names_a_wait(self, statement: cst.CSTNode) -> bool:
        return any(
            type(node) is cst.Attribute and node.attr.value in self.waiting
            for node in walk(statement)
        )


def _any_between(indices: Sequence[int], first: int, last: int) -> bool:
    return bisect_left(indices, first) < bisect_right(indices, last)


def _is_training(loop: LoopRecord) -> bool:
    """Whether a loop trains, or runs epochs."""
    trains = bool(loop.work & (Work.GRADIENTS | Work.STEPS_ENVIRONMENT))
    return trains or loop.shape.names_epochs or loop.kind == Loop.EPOCH


def _has_steps(loop: LoopRecord) -> bool:
    """Whether a loop goes over steps, or contains one that does."""
    return loop.over_steps or bool(loop.work & Work.CONTAINS_STEPS)


def _adds_up(statement: cst.CSTNode) -> bool:
    """Whether a statement adds to a sum: over many steps the queue fills, and waits count too."""
    lines = statement.body if type(statement) is cst.SimpleStatementLine else ()
    return any(type(line) is cst.AugAssign for line in lines)


def _stored(statement: cst.CSTNode, clock: cst.CSTNode) -> set[str]:
    """Return the variables that a statement assigns a clock's reading to."""
    return {
        dotted(target.target)
        for part in children(statement)
        if type(part) is cst.Assign and part.value is clock
        for target in part.targets
    } - {""}
