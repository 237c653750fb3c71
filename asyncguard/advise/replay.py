"""What-if replay: what a step would take if the program waited less often.

The steps of a trace are read as a program (`asyncguard.timeline.program`), the waits in it are
removed, batched or thinned out, and what is left is carried out on the virtual timeline. Where the
device was watched, on the engine, on CUDA and under simulation, its work is known; elsewhere it is
inferred from the waits (`asyncguard.timeline.inferred`), and the range says how much that leaves
open. Nothing is executed.

A read that goes leaves an operation in its place: the value is added up, or kept, on the device.
Where enqueues were recorded, that costs the host what an enqueue usually does.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from asyncguard.advise.changes import Changes, Waits
from asyncguard.model import STAND_IN, AsyncguardError, SiteStats, SyncKind, TraceRecord
from asyncguard.timeline import inferred
from asyncguard.timeline.elapsed import Elapsed, Left, elapsed
from asyncguard.timeline.inferred import Overlap
from asyncguard.timeline.program import Action, Boundary, Handover, Program, recorded

READS = {SyncKind.SCALAR, SyncKind.ARRAY, SyncKind.TEXT, SyncKind.TRUTH, SyncKind.COMPOSITE}
KEPT = READS - {SyncKind.TEXT}  # whose value is still needed where it is not read any more
STEPS = 200  # of the newest, that are replayed at most,
ACTIONS = 20_000  # with so many actions in all,
REPLAYED = 4_000_000  # and so many in the replays of all sites, one for each
AVERAGED_STEPS = 20
MARGIN = 0.03  # of a step: what the model itself leaves out
SAVING_MARGIN = 0.1  # of a saving, likewise
OVERLAP_ERROR = 0.1  # of an overlap that was measured by CPU time, where its range was not kept
FULL_OVERLAP, NO_OVERLAP, HALF_OVERLAP = 1.0, 0.0, 0.5


@dataclass(frozen=True)
class Prediction:
    """A step after the changes, in nanoseconds: the expectation, and the range around it.

    `before_ns` is the step of the trace. `basis` is "measured" where the device's intervals were
    recorded, "modelled" where it was simulated, else "inferred". `bottleneck` is "host" where the
    host's own work takes most of the step that is left, "device" where the device's does, and
    "waits" where waits hold up both. `peak_pending_bytes` is what the results of enqueued
    operations take at most, where known.
    """

    step_ns: float
    low_ns: float
    high_ns: float
    before_ns: float
    basis: str
    bottleneck: str
    peak_pending_bytes: int | None = None

    @property
    def saving_ns(self) -> float:
        """How much shorter a step becomes."""
        return max(self.before_ns - self.step_ns, 0.0)


class Saving(NamedTuple):
    """How much shorter a step becomes, in nanoseconds: the expectation and its range."""

    likely: float
    low: float
    high: float


def predict(
    record: TraceRecord,
    *,
    remove: SiteStats | Iterable[SiteStats] = (),
    batch: Iterable[SiteStats] | Iterable[Iterable[SiteStats]] = (),
    every: tuple[SiteStats, int] | Iterable[tuple[SiteStats, int]] = (),
    wait_each_step: bool | str = False,
) -> Prediction:
    """Predict the step with the waits at `remove` gone, each group of `batch` served by one wait,
    and each (site, n) of `every` waiting in one step of n. With `wait_each_step` a wait for all
    that was enqueued ends each step, as a bound for the queue and its memory; it may name the
    operation of which the last one is waited for.

    Raises AsyncguardError where a site is not the record's, n is not a whole number from 1 up, no
    step was marked, or the CPU stood in for a device, so that waits took no time.
    """
    numbers = _Numbers(record)
    return Replay(record).predict(
        Changes(
            numbers.of_each([remove] if isinstance(remove, SiteStats) else remove),
            tuple(map(numbers.of_each, _groups(batch))),
            {numbers.of(site): _positive(n) for site, n in _pairs(every)},
            wait_each_step,
        )
    )


def _groups(
    batch: Iterable[SiteStats] | Iterable[Iterable[SiteStats]],
) -> list[Iterable[SiteStats]]:
    """Return groups of sites, where one group may stand for itself."""
    given: list[Any] = list(batch)
    return [given] if given and all(isinstance(each, SiteStats) for each in given) else given


def _pairs(
    every: tuple[SiteStats, int] | Iterable[tuple[SiteStats, int]],
) -> list[tuple[SiteStats, int]]:
    """Return pairs of a site and a number of steps, where one pair may stand for itself."""
    given: list[Any] = list(every)
    return [(given[0], given[1])] if len(given) == 2 and isinstance(given[0], SiteStats) else given


class Replay:
    """Predictions from one record: what it says is read once."""

    def __init__(self, record: TraceRecord) -> None:
        _check(record)
        self._before = record.steady_duration_ns / record.steady_steps
        program = recorded(record.timeline, record.step_count - record.steady_steps)
        self._measured = program is not None and program.has_runs
        simulated = "simulated" in record.extra
        known = "modelled" if simulated else "measured"
        self._basis = known if self._measured else "inferred"
        self._overlaps = _overlaps(record.extra)
        plain = _averaged(record) if program is None else _newest(program, len(record.sites))
        self._spread = _spread(plain.step_ns)
        reads = frozenset(n for n, site in enumerate(record.sites) if site.kind in KEPT)
        kept_ns = _enqueue_ns(plain)
        self._versions = [_Reading(each, reads, kept_ns) for each in self._readings(plain)]

    def _readings(self, plain: Program) -> tuple[Program, ...]:
        """The program as it most likely is, and the extremes that the record leaves open."""
        if self._measured:
            return (plain,)
        likely, least, most = self._overlaps
        return (
            inferred.with_device(plain, likely),
            inferred.with_device(plain, least, return_ns=inferred.WOKEN_LATE_NS),
            inferred.with_device(plain, most, return_ns=0),
        )

    def predict(self, changes: Changes) -> Prediction:
        """Replay each reading with and without the changes."""
        steps = [self._step(version, changes) for version in self._versions]
        room = (self._spread + MARGIN) * self._before
        found = self._versions[0].after(changes)
        return Prediction(
            step_ns=steps[0],
            low_ns=max(min(steps) - room, 0.0),
            high_ns=max(steps) + room,
            before_ns=self._before,
            basis=self._basis,
            bottleneck=_bottleneck(found),
            peak_pending_bytes=found.peak_pending_bytes or None,
        )

    def saving(self, done: Changes, changes: Changes) -> Saving:
        """What `changes` save a step where `done` is done already."""
        both = done | changes
        savings = [self._step(each, done) - self._step(each, both) for each in self._versions]
        doubt = self._spread + SAVING_MARGIN
        return Saving(
            likely=max(savings[0], 0.0),
            low=max(min(savings) * (1 - doubt), 0.0),
            high=max(max(savings) * (1 + doubt), 0.0),
        )

    def _step(self, version: _Reading, changes: Changes) -> float:
        """A step after the changes; what the replay of the run as it was misses, stays missed."""
        missed = self._before - version.after(Changes()).step_ns
        return max(version.after(changes).step_ns + missed, 0.0)


class _Reading:
    """A program as the record may be read, and what was found of it; each change is tried once.

    Where a wait at one of the sites `reads` goes for good, the host works for `kept_ns` instead.
    """

    def __init__(self, program: Program, reads: frozenset[int], kept_ns: int) -> None:
        self._program = program
        self._waits = Waits(program)
        self._reads = reads
        self._kept_ns = kept_ns
        self._found: dict[Changes, Elapsed] = {}

    def after(self, changes: Changes) -> Elapsed:
        """What it takes after the changes."""
        found = self._found.get(changes)
        if found is None:
            kept = self._reads & (changes.remove | changes.every.keys())
            gone = self._waits.gone(changes)
            left = Left(gone, kept, self._kept_ns, changes.wait_each_step)
            found = self._found[changes] = elapsed(self._program, left)
        return found


def _overlaps(extra: Mapping[str, Any]) -> tuple[Overlap, Overlap, Overlap]:
    """The overlap of host and device as it most likely is, at least and at most."""
    overall = extra.get("backend_overlap")
    if not isinstance(overall, (int, float)):
        return Overlap(HALF_OVERLAP), Overlap(NO_OVERLAP), Overlap(FULL_OVERLAP)
    error = (
        max(overall - OVERLAP_ERROR, NO_OVERLAP),
        min(overall + OVERLAP_ERROR, FULL_OVERLAP),
    )
    around = (overall, *extra.get("backend_overlap_range", error))
    by_site = extra.get("backend_overlap_by_site", {})
    likely, least, most = (
        Overlap(share, {int(site): shares[place] for site, shares in by_site.items()})
        for place, share in enumerate(around)
    )
    return likely, least, most


def is_replayable(record: TraceRecord) -> bool:
    """Whether the record has whole steps one by one, and waits that took their time."""
    stood_in = any(site.device == STAND_IN for site in record.sites)
    steps = record.steady_steps and record.steady_duration_ns
    return bool(record.timeline and steps) and not stood_in


def _enqueue_ns(program: Program) -> int:
    """Return the median host time of an enqueue, in nanoseconds; 0 where none was recorded."""
    times = [action.host_ns for action in program.actions if isinstance(action, Handover)]
    return int(statistics.median(times)) if times else 0


def _by_step(actions: Iterable[Action]) -> Iterator[list[Action]]:
    step: list[Action] = []
    for action in actions:
        step.append(action)
        if isinstance(action, Boundary):
            yield step
            step = []
    yield step


def _bottleneck(found: Elapsed) -> str:
    """What the replayed steps spend most of their time on."""
    if max(found.host_ns, found.device_ns) < 0.9 * found.duration_ns:
        return "waits"
    return "host" if found.host_ns >= found.device_ns else "device"


def _check(record: TraceRecord) -> None:
    if not record.steady_steps or not record.steady_duration_ns:
        raise AsyncguardError(
            "this trace holds no complete step after the warm-up, so there is nothing to predict; "
            "mark steps with asyncguard.step() or asyncguard.steps(loader)"
        )
    if any(site.device == STAND_IN for site in record.sites):
        raise AsyncguardError(
            "the CPU stood in for a device, so waits took no time; record a trace on a device, or "
            "a simulated one, to predict what they cost"
        )


def _newest(program: Program, sites: int) -> Program:
    """The last steps: enough to average over, few enough to replay as often as there are sites."""
    each = len(program.actions) // len(program.step_ns)
    most = min(ACTIONS, REPLAYED // max(sites, 1))
    count = min(STEPS, max(most // max(each, 1), 1))
    if len(program.step_ns) <= count:
        return program
    steps = list(_by_step(program.actions))
    first = len(program.step_ns) - count
    actions = tuple(action for step in steps[first:] for action in step)
    return replace(program, actions=actions, step_ns=program.step_ns[first:])


def _averaged(record: TraceRecord) -> Program:
    """What the sums over the steady steps say of one step."""
    steps = record.steady_steps
    waits = [
        (index, site.steady_stall_ns // steps)
        for index, site in enumerate(record.sites)
        if site.steady_count
    ]
    busy = record.steady_duration_ns // steps - sum(ns for _, ns in waits)
    return inferred.average(max(busy, 0), waits, min(steps, AVERAGED_STEPS))


def _spread(step_ns: Sequence[int]) -> float:
    """How far off the mean of such steps may be, as a share of it: twice its standard error."""
    if len(step_ns) < 4:
        return MARGIN
    lower, middle, upper = statistics.quantiles(step_ns, n=4)
    return 2 * (upper - lower) / 1.35 / len(step_ns) ** 0.5 / middle if middle else 0.0


class _Numbers:
    """The index of a site in a record."""

    def __init__(self, record: TraceRecord) -> None:
        self._record = record

    def of(self, site: SiteStats) -> int:
        try:
            return self._record.sites.index(site)
        except ValueError:
            raise AsyncguardError(
                f"{site.path}:{site.line}: no such site in this trace; take one of trace.sites"
            ) from None

    def of_each(self, sites: Iterable[SiteStats]) -> frozenset[int]:
        return frozenset(map(self.of, sites))


def _positive(n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise AsyncguardError(f"every: a whole number from 1 up, not {n!r}")
    return n
