"""Random tasks and threads, units and waits: counts and warnings are those of a brute-force model.

The model has the whole history before it: a unit is an interval of one worker's operations, and its
waits are those of the worker that lie in it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard import limit_syncs, step
from asyncguard.runtime import units
from asyncguard.runtime.sites import Site
from asyncguard.runtime.units import Unit
from tests import effort

np = pytest.importorskip("asyncguard.engine.np", reason="NumPy is not installed")
WORKERS = 3
LAST = 1_000_000  # later than all operations
NAMES = st.sampled_from(["token", "request"])
NAME = "token"  # of the units that the limit is for
Operation = tuple[str, str]  # what, and the name of a unit
OPERATIONS = st.tuples(st.sampled_from(["wait", "wait", "leave", "enter", "mark", "mark"]), NAMES)
ORDERS = st.lists(st.tuples(st.integers(0, WORKERS - 1), OPERATIONS), max_size=40)


class Counting(limit_syncs):
    """Notes what it would warn of."""

    def __init__(self, count: int, after: int) -> None:
        super().__init__(count, NAME, after=after, on="warn")
        self.seen = 0

    def _exceed(self, message: str, site: Site) -> None:
        self.seen += 1

    def _judge(self, error: type[BaseException] | None) -> None:
        self._account.close(judge=True)  # a program may be without units


class Log:
    """The limit's units by the order in which they began. A `units.Listener`."""

    def __init__(self) -> None:
        self.begun: list[Unit] = []

    def minds(self, name: str) -> bool:
        return name == NAME

    def marked(self, unit: Unit) -> None: ...

    withdrawn = ended = marked

    def began(self, unit: Unit) -> None:
        self.begun.append(unit)

    def waits(self, limit: Counting) -> list[int]:
        """How often each of them waited, of those that the limit knows."""
        tallies = [unit.tallies.get(limit._account) for unit in self.begun]
        return [tally.waits for tally in tallies if tally is not None]


class Worker:
    """Does one operation after another."""

    def __init__(self) -> None:
        self.entered: list[Any] = []

    def do(self, what: str, name: str = NAME) -> None:
        if what == "wait":
            float(np.ones(2).sum())
        elif what == "mark":
            step(name)
        elif what == "enter":
            self.entered.append(step(name).__enter__())
        elif self.entered:
            self.entered.pop().__exit__(None, None, None)


class Made(NamedTuple):
    """A unit of the model. `began`: the moment at which that is noticed."""

    began: float
    is_lead: bool
    waits: frozenset[int]  # their moments


def made(history: list[tuple[int, Operation]], count: int, *, leads: bool) -> Iterator[Made]:
    """Yield the units of one worker, whose operations come with their moments."""
    after = {moment: LAST for moment, _ in history}
    after.update({a: b for (a, _), (b, _) in pairwise(history)})
    regions = [(-1, LAST, -1)]  # a block's inside: from, to, and the region around
    inside, here = {}, 0
    for moment, (what, _) in history:
        inside[moment] = here
        if what == "enter":
            regions.append((moment, LAST, here))
            here = len(regions) - 1
        elif what == "leave" and here:
            begun, _, around = regions[here]
            regions[here] = (begun, moment, around)
            here = around
    of = dict(history)
    waits = [moment for moment, (what, _) in history if what == "wait"]
    blocks = [(a, b) for a, b, _ in regions[1:] if of[a] == ("enter", NAME)]
    marks = [
        [m for m in of if of[m] == ("mark", NAME) and inside[m] == r] for r in range(len(regions))
    ]
    stretches = [
        (mark, end)
        for (_, to, _), found in zip(regions, marks, strict=True)
        for mark, end in zip(found, [*found[1:], to], strict=False)
    ]

    def within(begin: int, end: int) -> frozenset[int]:
        return frozenset(moment for moment in waits if begin < moment < end)

    outside = frozenset(waits).difference(*(within(*each) for each in (*blocks, *stretches)))
    for begin, end in blocks:
        yield Made(begin + 0.5, False, within(begin, end))
    for (begin, _, _), found in zip(regions, marks, strict=True):
        lead = within(begin, found[0]) & outside if found and leads else frozenset()
        for mark in found:
            # A call is noticed by what comes next, or, after too many waits, at the limit's end.
            noticed = after[mark] if after[mark] < LAST else LAST + mark
            if noticed >= LAST and (mark != found[0] or len(lead) <= count):
                continue
            if mark == found[0]:
                yield Made(noticed + 0.1, True, lead)
            yield Made(noticed + 0.2, False, within(mark, dict(stretches)[mark]))


def expected(found: list[Made], count: int, after: int) -> tuple[list[int], int]:
    """The waits of each unit, and how many warnings there are."""
    found = sorted(found, key=lambda unit: unit.began)
    limited = found[after:]
    over = {moment for unit in limited if not unit.is_lead for moment in sorted(unit.waits)[count:]}
    late = sum(unit.is_lead and len(unit.waits) > count for unit in limited)
    return [len(unit.waits) for unit in found], len(over) + late


def histories(order: list[tuple[int, Operation]]) -> list[list[tuple[int, Operation]]]:
    """What each worker does, with the moments; without leaving what it has not entered."""
    found: list[list[tuple[int, Operation]]] = [[] for _ in range(WORKERS)]
    depths = [0] * WORKERS
    for moment, (who, operation) in enumerate(order):
        change = {"enter": 1, "leave": -1}.get(operation[0], 0)
        if depths[who] + change >= 0:
            depths[who] += change
            found[who].append((moment, operation))
    return found


@settings(max_examples=effort.examples(150), deadline=None)
@given(ORDERS, st.lists(NAMES, max_size=2), st.integers(0, 2), st.integers(0, 3))
def test_tasks_under_one_limit(
    order: list[tuple[int, Operation]], around: list[str], count: int, after: int
) -> None:
    limit, log = Counting(count, after), Log()

    async def work(inbox: asyncio.Queue[Any], done: asyncio.Queue[None]) -> None:
        worker = Worker()
        while (operation := await inbox.get()) is not None:
            worker.do(*operation)
            await done.put(None)

    async def main() -> None:
        inboxes: list[asyncio.Queue[Any]] = [asyncio.Queue() for _ in range(WORKERS)]
        done: asyncio.Queue[None] = asyncio.Queue()
        outer = Worker()
        with limit:
            for name in around:
                outer.do("enter", name)
            tasks = [asyncio.create_task(work(inbox, done)) for inbox in inboxes]
            for who, operation in order:
                await inboxes[who].put(operation)
                await done.get()
            for inbox in inboxes:
                await inbox.put(None)
            await asyncio.gather(*tasks)
            for _ in around:
                outer.do("leave")

    units.listen(log)
    try:
        asyncio.run(main())
    finally:
        units.forget(log)
    whole = frozenset(moment for moment, (_, (what, _)) in enumerate(order) if what == "wait")
    found = [Made(-1, False, whole) for name in around if name == NAME]
    for history in histories(order):
        found += made(history, count, leads=NAME not in around)
    assert (log.waits(limit), limit.seen) == expected(found, count, after)


@settings(max_examples=effort.examples(90), deadline=None)
@given(ORDERS, st.integers(0, 2), st.integers(0, 3))
def test_threads_with_a_limit_each(
    order: list[tuple[int, Operation]], count: int, after: int
) -> None:
    limits = [Counting(count, after) for _ in range(WORKERS)]
    logs = [Log() for _ in range(WORKERS)]
    inboxes: list[queue.Queue[Any]] = [queue.Queue() for _ in range(WORKERS)]
    done: queue.Queue[None] = queue.Queue()

    def work(at: int) -> None:
        thread, worker = threading.get_ident(), Worker()
        minds = logs[at].minds
        logs[at].minds = lambda name: minds(name) and threading.get_ident() == thread  # type: ignore[method-assign]
        with limits[at]:
            while (operation := inboxes[at].get()) is not None:
                worker.do(*operation)
                done.put(None)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(WORKERS)]
    for log in logs:
        units.listen(log)
    try:
        for thread in threads:
            thread.start()
        for who, operation in order:
            inboxes[who].put(operation)
            done.get(timeout=60)
    finally:
        for inbox, thread in zip(inboxes, threads, strict=True):
            inbox.put(None)
            thread.join()
        for log in logs:
            units.forget(log)
    for limit, log, history in zip(limits, logs, histories(order), strict=True):
        found = list(made(history, count, leads=True))
        assert (log.waits(limit), limit.seen) == expected(found, count, after)
