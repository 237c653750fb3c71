"""The loops and guards that are open in a function: how often the current place is run, and why.

Work is noted for the loop that it is done in, else for the function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from asyncguard.lint.contexts.options import NOTHING, Asked
from asyncguard.lint.contexts.repeated import why_repeated
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.hotness import Context
from asyncguard.lint.domain.loops import Guard, LoopRecord
from asyncguard.lint.domain.reasons import Reason
from asyncguard.lint.domain.regions import NO_GRAPHS, Graphs
from asyncguard.lint.domain.work import Work
from asyncguard.lint.names import family
from asyncguard.model import Loop, SyncKind

_TEST_CASE = family("function.test_case")
_TESTS = family("file.test")  # files of unit tests
# A benchmark's barriers are part of what it measures: told by a function, a file or a folder.
_BENCH = family("function.benchmark")
# What draws something for someone to look at, a few samples at most, sets things up, or moves them
# to and from files: its loops are no steps, unless they train or go over a loader.
_ASIDE = family("function.aside")


@dataclass(eq=False, slots=True)
class Nesting:
    """What is open around the current place of a function."""

    function: FunctionInfo
    path: str  # of its file
    loops: list[LoopRecord] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    asked: Asked = NOTHING  # by the conditions around
    capturing: Graphs = NO_GRAPHS  # what a call has begun, which another one ends
    work: Work = Work.NONE  # outside its own loops

    # ---- contexts

    @property
    def has_steps(self) -> bool:
        """Whether a loop over steps is open."""
        return any(loop.kind == Loop.STEP for loop in self.loops)

    def context(self) -> Context:
        """Return how often the current place executes within its function, and if guarded."""
        index = self._repeating()
        if index < 0:
            return Context(Loop.NONE, self._guarded(0), self.asked.switches, self.graphs)
        loop = self.loops[index].kind
        guarded = self._guarded(index + 1 if loop == Loop.STEP else 0)
        return Context(loop, guarded, self.asked.switches, self.graphs)

    def context_of(self, kind: SyncKind, *, news: bool) -> Context:
        """Return how often a wait of a kind happens here; `news`: text is printed rarely."""
        context = self.context()
        loop, guarded, switches, graphs = context
        if kind == SyncKind.TEXT:
            return Context(loop, guarded or news, switches, graphs)
        if kind != SyncKind.BARRIER or self._is_aside:
            return context
        if loop == Loop.NONE and any(_only_enqueues(record) for record in self.loops):
            loop = Loop.STEP  # whatever it loops over, each iteration enqueues work and waits
        measured = _BENCH(self.path) or _BENCH(self.function.name)
        return Context(loop, guarded or measured, switches, graphs)

    @property
    def items(self) -> frozenset[str]:
        """Return what the conditions and loops around the current place are, as evidence."""
        shapes = self.asked.shapes
        return shapes | {f"loops.{min(len(self.loops), 2)}", f"conditions.{min(len(shapes), 3)}"}

    @property
    def graphs(self) -> Graphs:
        """Return which graphs the current place is part of."""
        asked = self.asked.graphs
        return asked if self.capturing is NO_GRAPHS else self.capturing | asked

    def why_repeated(self) -> Reason | None:
        """Return why the current place is repeated within its function, if it is."""
        index = self._repeating()
        return why_repeated(self.loops[index], self.path) if index >= 0 else None

    def _repeating(self) -> int:
        """Return which of the open loops says how often the current place executes; -1: none."""
        if not self.loops:
            return -1
        aside = self._is_aside
        rare = self.function.hook == Loop.EPOCH  # where only what runs a model shows that it steps
        shows = Work.RUNS_MODEL | Work.STEPS_ENVIRONMENT
        for index in range(len(self.loops) - 1, -1, -1):
            loop = self.loops[index]
            steps = loop.over_steps or not (aside or (rare and not loop.work & shows))
            if loop.kind == Loop.STEP and steps:
                return index
        epochs = (i for i, loop in enumerate(self.loops) if loop.kind == Loop.EPOCH)
        return next(epochs, -1)

    @property
    def _is_aside(self) -> bool:
        name = self.function.name
        return is_test(name, self.path) or _ASIDE(name)

    def _guarded(self, depth: int) -> bool:
        return bool(self.guards) and any(
            guard.lasting
            or (guard.depth >= depth and guard.counted < max(depth, 1) and guard.first < depth)
            for guard in self.guards
        )

    def guard(self, guard: Guard | None) -> bool:
        """Put up a guard until the end of the block; return whether it was not up already."""
        if guard is None or guard in self.guards:
            return False
        self.guards.append(guard)
        return True

    # ---- work

    @property
    def enclosing(self) -> LoopRecord | None:
        """The innermost loop whose body is no part of what the loop around it does."""
        return next((record for record in reversed(self.loops) if not record.transparent), None)

    def does(self, work: Work) -> None:
        """Note the work of the code here, for the loop that it is in, else for the function."""
        if self.loops and self.loops[-1].comprehension:
            self.loops[-1].work |= Work.RUNS_MODEL
        loop = self.enclosing
        if loop is not None:
            loop.work |= work
        else:  # what merely asks for gradients changes nothing
            done = work if work & Work.TRAINS else work & ~Work.UPDATES
            self.work |= done | Work.RUNS_MODEL

    def draws(self) -> None:
        """Note that a figure is drawn, if that is done each time that the code around it is run."""
        loop, depth = self.enclosing, len(self.loops)
        asked = loop.asked if loop is not None else frozenset[str]()
        if self.asked.shapes != asked or any(guard.depth >= depth for guard in self.guards):
            return
        if loop is not None:
            loop.work |= Work.DRAWS
        else:
            self.work |= Work.DRAWS

    def goes_over_members(self) -> None:
        """Note that the innermost loop goes over parts of one step: its work is that step's."""
        record = self.loops[-1]
        if not record.transparent:
            record.transparent, work, record.work = True, record.work, Work.NONE
            self.does(work)

    def enqueues(self, besides: Work | None) -> None:
        """Note that device work is enqueued, and what that says besides; None: of a stranger."""
        if self.loops and self.loops[-1].comprehension:
            self.loops[-1].work |= Work.ENQUEUES
        loop = self.enclosing
        if loop is not None and besides is not None:
            loop.work |= Work.ENQUEUES | besides
        elif besides is not None:
            self.work |= Work.ENQUEUES

    def contains(self, work: Work) -> None:
        """Note what loops the innermost loop contains, in each of its rounds."""
        depth = len(self.loops)
        if depth and not any(guard.depth >= depth for guard in self.guards):
            self.loops[-1].work |= work

    def loops_over(self, work: Work) -> None:
        """Note what loops the function runs: not in some of its calls, but in each.

        `if self.count >= self.length: self.update()`: an agent's step, which now and then trains.
        """
        if not self.guards:
            self.work |= work

    def leave(self) -> None:
        """Close the innermost loop, and note what it says of the code around it."""
        record = self.loops.pop()
        shape, work = record.shape, record.work
        self.note_batches(record)
        if work & Work.DRAWS:
            self.draws()
        if record.kind == Loop.NONE:
            if self.loops:
                self.loops[-1].work |= work & Work.ENQUEUES
            return
        named = shape.names_epochs or (shape.names_steps and shape.counts)
        if record.over_steps or work & Work.CONTAINS_STEPS or named:
            steps = Work.CONTAINS_STEPS | work & Work.CONTAINS_GRADIENTS
            if work & Work.GRADIENTS:
                steps |= Work.CONTAINS_GRADIENTS
            trainings = work & (Work.GRADIENTS | Work.CONTAINS_TRAINING)
            self.contains(steps | (Work.CONTAINS_TRAINING if trainings else 0))
            self.loops_over(steps | (Work.CONTAINS_TRAINING if work & Work.UPDATES else 0))
        else:
            self.does(Work.RUNS_MODEL)
        own = record.transparent or self.function.hook == Loop.STEP  # a part of a step
        if not own and not work & Work.GRADIENTS:
            self.runs_what_repeats(work & (Work.REPEATS | Work.CONTAINS_RUNS))

    def feeds(self, chosen_by: Collection[str], paths: frozenset[str]) -> None:
        """Note what a model is run on here, by path; `chosen_by` are the names that say which."""
        loop = self.enclosing
        if loop is not None and loop.targets.isdisjoint(chosen_by):
            loop.fed |= paths

    def carries(self, changed: Iterable[str]) -> None:
        """Note what a round of the innermost loop makes of what was there before."""
        loop = self.loops[-1]
        if not loop.fed.isdisjoint(changed):
            loop.work |= Work.REPEATS

    def runs_what_repeats(self, work: Work) -> None:
        """Note that code here runs, once, what runs a model again and again."""
        depth = len(self.loops)
        if not work or any(guard.depth >= depth for guard in self.guards):
            return
        loop = self.enclosing
        if loop is not None:
            loop.work |= Work.CONTAINS_RUNS
        else:
            self.work |= Work.CONTAINS_RUNS

    def note_batches(self, record: LoopRecord) -> None:
        """Note for what is around a loop that this goes over batches, if it does."""
        if record.shape.over_batches(record.work):
            self.work |= Work.CONTAINS_BATCHES
            self.contains(Work.CONTAINS_BATCHES)

    @contextmanager
    def apart(self) -> Iterator[LoopRecord]:
        """Run something in a loop of its own, to see what work it does."""
        record, before = LoopRecord(self.function.node), self.work
        self.loops.append(record)
        yield record
        self.loops.pop()
        self.work = before


def _only_enqueues(record: LoopRecord) -> bool:
    """Whether a loop enqueues work, and has no loop over steps in it."""
    return record.work & (Work.ENQUEUES | Work.CONTAINS_STEPS) == Work.ENQUEUES


def is_test(name: str, path: str) -> bool:
    """Whether a function of this name, in this file, is a unit test."""
    return _TEST_CASE(name) and _TESTS(path)
