"""The recorder: counts and times for each site while the program runs.

Each thread, and each task of asyncio, appends its waits to a log of its own, so that no wait is
delayed or lost; every so many are added up by site. So memory is bounded by the number of lines
that wait, not by how often they do. Steps are numbered from 0; step n lies between the boundaries
n and n + 1.
"""

from __future__ import annotations

import heapq
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from asyncguard.runtime.cells import Cell
from asyncguard.runtime.figures import Figures, Reading, Totals
from asyncguard.runtime.hub import BATCH, Beat
from asyncguard.runtime.sinks import Event, Sink
from asyncguard.runtime.sites import Site
from asyncguard.runtime.steps import Pace
from asyncguard.runtime.tables import Call, Table, Tables, Wait

RANKS_WINDOW = 512  # the newest steps of which is kept how long they waited for other ranks
STEP_WINDOW = 4096  # the newest steps whose counts are kept one by one

Clock = Callable[[], int]
Counts = dict[bool, defaultdict[int, int]]  # stands in for a device? -> step -> waits


class Part(NamedTuple):
    """A read inside a composite call, and the step in which it was over."""

    begin: int
    end: int
    step: int


class Recorder(Sink):
    """Counts waits by site, thread and step. A `hub.Logged` and `hub.Marked`.

    `stand_ins` is True or False where the user said whether reads of CPU values count. None:
    they do until an accelerator is in use, which `in_use` is asked at each new site.
    """

    def __init__(
        self,
        clock: Clock,
        warmup: int = 1,
        frameworks: frozenset[str] | None = None,
        stand_ins: bool | None = None,
        in_use: Callable[[], bool] = lambda: False,
        timeline: int | None = None,
    ) -> None:
        self.begin = self.enter = clock  # type: ignore[method-assign]  # no frame in between
        self.beat = Beat(clock)
        self._clock = clock
        self._warmup = warmup
        self._frameworks = frameworks
        self._stand_ins = stand_ins
        self._in_use = in_use
        self._pace = Pace()
        self._lock = threading.RLock()  # a signal handler may read in the midst of anything
        self._tables = Tables(self.beat, self._lock, self._add_up, warmup)
        self._idle: dict[Site, int] = {}
        self._events: deque[Event] | None = deque(maxlen=timeline) if timeline else None
        self._boundaries: deque[int] = deque(maxlen=timeline or 1)
        # The waits of the newest steps: of device values, and of what stands in for them.
        self._counts: Counts = {False: defaultdict(int), True: defaultdict(int)}
        self._allowed: Counts = {False: defaultdict(int), True: defaultdict(int)}
        self._collective: defaultdict[int, int] = defaultdict(int)  # step -> ns waited for ranks
        self._started = self._warm = self._stopped = 0
        self._running = False

    @property
    def step(self) -> int:
        """The number of the step under way."""
        return self.beat.step

    @property
    def started(self) -> int:
        """When the trace began, on the recorder's clock."""
        return self._started

    def start(self) -> None:
        """The trace begins."""
        self._started = self._warm = self.beat.last = self._clock()
        self._boundaries.append(self._started)
        self._running = True

    def stop(self) -> None:
        """The trace ends; `read` shows it as it is now from here on."""
        self._stopped = self._clock()
        self._running = False

    def waited(self, site: Site, begin: int, end: int) -> None:
        """A wait lasted from `begin` to `end`."""
        self.end(site, begin, end)

    def end(self, site: Site, began: int, now: int | None = None) -> None:
        """A wait that began at `began` is over (at `now`; else just now)."""
        if now is None:
            now = self._clock()
        table = self._tables.current()
        table.log.append((site, began, now, self.beat.step))
        if self._events is not None or len(table.log) >= BATCH:
            self.settle()

    def part(self, site: Site, began: int) -> Part:
        """A read inside a composite call is over."""
        return Part(began, self._clock(), self.beat.step)

    def leave(self, site: Site, entered: int, parts: Sequence[Part]) -> None:
        """A composite call is over: what it waited is the time of its parts, from the first on.

        It belongs to the step in which that began: the call may itself end one.
        """
        now = self._clock()
        first = parts[0] if parts else Part(now, now, self.beat.step)
        waited = sum(part.end - part.begin for part in parts)
        call = Call(site, site.home, now - entered)
        step = min(first.step, self.beat.step)  # marks of the user's make the count start over
        self._tables.current().log.append((call, first.begin, first.begin + waited, step))
        if self._events is not None:
            self.settle()

    def apart(self, site: Site, part: Part) -> None:
        """A part is a wait of its own."""
        self._tables.current().log.append((site, *part))
        if self._events is not None:
            self.settle()

    def settle(self) -> None:
        """Add up what has been logged, unless another thread is about it."""
        if self._lock.acquire(blocking=False):
            try:
                self._add_up()
            finally:
                self._lock.release()

    def idled(self, site: Site, begin: int, end: int, device: str = "") -> None:
        """A wait at `site` left the device idle from `begin` to `end`; zero is measured, too."""
        with self._lock:
            self._idle[site.home] = self._idle.get(site.home, 0) + end - begin
        if self._events is not None and end > begin:
            self._events.append(Event("idle", "", begin, end, device, site=site.home))

    def event(self, event: Event) -> None:
        """Something for the timeline, which is no wait."""
        if self._events is not None:
            self._events.append(event)

    def mark(self, source: object | None) -> None:
        """A step ended, if `source` is who sets the pace."""
        with self._lock:
            self._mark(source)

    def read(self, brief: bool = False) -> Reading:
        """Add up what all threads have appended; safe while they go on.

        brief: without what there is one of for each step or wait.
        """
        with self._lock:
            self._add_up()
            stand_in = self.stand_ins_count()
            steady = max(self.beat.step - self._warmup, 0)
            return Reading(
                cells=tuple(self._cells()),
                idle=dict(self._idle),
                steps=self.beat.step,
                steady_steps=steady,
                steady_duration=self.beat.last - self._warm if steady else 0,
                step_syncs=() if brief else self._newest(self._counts, steady),
                step_allowed=() if brief else self._newest(self._allowed, steady),
                step_collective_ns=() if brief else self._newest_collective(steady),
                duration=(self._clock() if self._running else self._stopped) - self._started,
                stand_in=stand_in,
                keeps_timeline=self._events is not None and not brief,
                events=() if brief else tuple(self._events or ()),
                boundaries=() if brief else tuple(self._boundaries),
                start=self._started,
            )

    def take(self) -> Reading:
        """Read for the last time: what was recorded is with the reading alone from here on."""
        reading = self.read()
        self._tables.forget()
        return reading

    def totals(self) -> Totals:
        """The sums so far; nobody waits for it, and other threads may be a wait ahead."""
        self.settle()
        cells = self._tables.cells()
        return Totals(
            sum(cell.count for cell in cells), sum(cell.stall for cell in cells), self.beat.step
        )

    def figures(self) -> Figures:
        """The figures so far; of each site its sums are looked at, and nothing else."""
        with self._lock:
            self._add_up()
            self.stand_ins_count()
            step = self.beat.step
            cells = self._tables.cells()
            steady = max(step - self._warmup, 0)
            return Figures(
                total_syncs=sum(cell.count for cell in cells),
                steady_syncs=sum(cell.steady_at(step, self._warmup) for cell in cells),
                cpu_stall_ns=sum(cell.stall for cell in cells),
                gpu_stall_ns=sum(self._idle.values()) if self._idle else None,
                step_count=step,
                steady_steps=steady,
                steady_duration_ns=self.beat.last - self._warm if steady else 0,
            )

    def steadiest(self, most: int) -> list[tuple[Site, str, Cell]]:
        """The sites to look at first, each with its thread and a copy of its figures.

        Those that wait in more than half of the steps come before all others; of either, those
        that stalled longest.
        """
        with self._lock:
            self._add_up()
            self.stand_ins_count()
            step = self.beat.step

            def weight(row: tuple[Site, str, Cell]) -> tuple[bool, int, int]:
                cell = row[2]
                steady = cell.steps - cell.warm_steps
                return 2 * steady > step - self._warmup > 0, cell.stall, cell.count

            rows = (
                (site, table.name, cell)
                for table in self._tables
                for site, cell in table.cells.items()
            )
            largest = heapq.nlargest(most, rows, key=weight)
            return [(site, name, cell.settled(step, self._warmup)) for site, name, cell in largest]

    def _mark(self, source: object | None) -> None:
        if source is None and not self._pace.explicit and self.beat.step:
            self._start_over()
        if self._pace.ends_step(source):
            self.beat.last = now = self._clock()
            self.beat.step += 1
            if self.beat.step == self._warmup:
                self._warm = now
            if self._events is not None:
                self._boundaries.append(now)
        plain = self._events is None and self.beat.step >= self._warmup
        leader = self._pace.leader if plain else None
        self.beat.lead(leader and leader())

    def _add_up(self) -> None:
        """Empty the logs, an entry at a time: a signal handler that reads goes on from there."""
        for table in self._tables:
            self._add_up_table(table, table.log, table.cells)
        for counts in (*self._counts.values(), *self._allowed.values(), self._collective):
            if len(counts) > 2 * STEP_WINDOW:
                for step in sorted(counts)[:-STEP_WINDOW]:
                    del counts[step]

    def _add_up_table(self, table: Table, log: deque[Wait], cells: dict[Site, Cell]) -> None:
        """In one loop, without calls: it runs for every wait."""
        while log:
            way, began, now, step = log.popleft()
            site = way.home
            cell = cells.get(site) or self._new_cell(table, site, step)
            if cell is None:
                continue
            stall = now - began
            if way is not site:
                if isinstance(way, Call):
                    cell.beside += way.whole - stall
                    way = way.site
                if way is not site:
                    cell.add_path(way, 1, stall)
            if cell.step != step:
                if cell.step < self._warmup:
                    cell.warm, cell.warm_stall = cell.count, cell.stall
                    cell.warm_steps = cell.steps
                elif cell.count - cell.base > cell.most:
                    cell.most = cell.count - cell.base
                cell.base, cell.base_stall, cell.base_steps = cell.count, cell.stall, cell.steps
                cell.step = step
                cell.steps += 1
            cell.count += 1
            cell.stall += stall
            bits = stall.bit_length()
            cell.buckets[bits] = cell.buckets.get(bits, 0) + 1
            if stall > cell.longest:
                cell.longest = stall
            blocker = site.blocker
            self._counts[blocker.stand_in][step] += 1
            if site.reason is not None:
                self._allowed[blocker.stand_in][step] += 1
            if blocker.is_collective:
                self._collective[step] += stall
            if self._events is not None:
                self._events.append(Event("wait", "", began, now, table.name, site=site))

    def _newest(self, counted: Counts, steady: int) -> tuple[int, ...]:
        """How often each of the newest complete steps waited, by one of the counts."""
        steps = range(self.beat.step - min(steady, STEP_WINDOW), self.beat.step)
        return tuple(sum(counts.get(step, 0) for counts in counted.values()) for step in steps)

    def _newest_collective(self, steady: int) -> tuple[int, ...]:
        """How long each of the newest complete steps waited for other ranks."""
        if not self._collective:
            return ()
        steps = range(self.beat.step - min(steady, RANKS_WINDOW), self.beat.step)
        return tuple(self._collective.get(step, 0) for step in steps)

    def _cells(self) -> Iterator[tuple[Site, str, Cell]]:
        for table in self._tables:
            for site, cell in list(table.cells.items()):
                if self._running:
                    yield site, table.name, cell.settled(self.beat.step, self._warmup)
                else:  # nobody appends any more, and there may be very many
                    cell.settle(self.beat.step, self._warmup)
                    yield site, table.name, cell

    def _start_over(self) -> None:
        """The user marks steps: forget the boundaries that optimizers marked before."""
        self._add_up()
        self.beat.step = 0
        self._warm = self.beat.last = self._started
        for counted in (self._counts, self._allowed):
            for key, old in counted.items():
                counted[key] = defaultdict(int, {0: sum(old.values())})
        self._collective.clear()
        for table in self._tables:
            for cell in list(table.cells.values()):
                cell.restart()

    def _new_cell(self, table: Table, site: Site, step: int) -> Cell | None:
        """A cell for a site that this session wants to know of."""
        point = site.blocker.point
        if self._frameworks is not None and point.framework not in self._frameworks:
            return None
        if site.blocker.on_accelerator and self._stand_ins is None:
            self._drop_stand_ins()
        if site.blocker.stand_in and not self.stand_ins_count():
            return None
        cell = table.cells[site] = Cell(step)
        return cell

    def stand_ins_count(self) -> bool:
        """Whether reads of CPU values count as reads of device values."""
        if self._stand_ins is None and self._in_use():
            self._drop_stand_ins()
        return self._stand_ins is not False

    def _drop_stand_ins(self) -> None:
        """An accelerator is in use: CPU values never stood in."""
        self._stand_ins = False
        for table in self._tables:
            for site in [site for site in table.cells if site.blocker.stand_in]:
                del table.cells[site]
        self._counts[True].clear()
        self._allowed[True].clear()
