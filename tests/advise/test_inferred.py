"""Predictions where only the host was watched: what the waits and CPU times prove, holds.

In virtual time, so that the truth is known to the nanosecond: the same loop with and without the
waits, on a backend that runs one operation after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asyncguard.advise.replay import NO_OVERLAP, Prediction, predict
from asyncguard.model import TraceRecord
from asyncguard.timeline.inferred import RETURN_NS, WOKEN_LATE_NS
from tests.watched import Watched

US = 1_000
STEPS = 40


class Part(NamedTuple):
    """The host works, enqueues, works, and waits for the newest operation but `older`; in us."""

    before: int
    device: int
    after: int
    older: int = 0


class Loop(NamedTuple):
    """Steps of such parts, each with a wait of its own; a wait takes `return_us` to return."""

    parts: tuple[Part, ...]
    cores: float = 1.0
    return_us: int = 3

    def run(self, waits: Callable[[int, int], bool]) -> Watched:
        """Go through a warm-up step and STEPS more, with the waits (step, part) that are wanted."""
        machine = Watched(cores=self.cores)
        for step in range(STEPS + 1):
            for at, part in enumerate(self.parts):
                machine.work(part.before * US)
                machine.enqueue(part.device * US)
                machine.work(part.after * US)
                if waits(step, at):
                    back = min(1 + part.older, len(machine.runs))
                    machine.wait(at, self.return_us * US, back)
            machine.boundary()
        return machine

    def traced(self) -> TraceRecord:
        return self.run(lambda step, at: True).record(sites=len(self.parts))

    def actual(self, waits: Callable[[int, int], bool]) -> float:
        """The mean step with these waits, up to when the last one's work is done."""
        machine = self.run(waits)
        return max(machine.timeline.now, machine.timeline.default_stream().tail) / (STEPS + 1)

    @property
    def left_over(self) -> float:
        """By how much the steps of a trace can be too few for the work of the last: a step's."""
        return max(part.device for part in self.parts) * US / STEPS


TIMES = st.one_of(st.just(0), st.integers(50, 500))
PARTS = st.builds(Part, TIMES, st.integers(50, 500), TIMES, st.integers(0, 1))
LOOPS = st.builds(
    Loop,
    st.lists(PARTS, min_size=1, max_size=4).map(tuple),
    st.sampled_from([0.5, 1.0, 3.0]),
    st.integers(0, 20),
)


class Change(NamedTuple):
    """How a prediction is asked for, and which waits are left by it."""

    predict: Callable[[TraceRecord], Prediction]
    leaves: Callable[[int, int, int], bool]  # step, part, number of parts


CHANGES = {
    "all removed": Change(
        lambda trace: predict(trace, remove=trace.sites), lambda step, at, parts: False
    ),
    "the first removed": Change(
        lambda trace: predict(trace, remove=[s for s in trace.sites if s.line == 10]),
        lambda step, at, parts: at > 0,
    ),
    "every five": Change(
        lambda trace: predict(trace, every=[(site, 5) for site in trace.sites]),
        lambda step, at, parts: step % 5 == 0,
    ),
    "one for all": Change(
        lambda trace: predict(trace, batch=[trace.sites]),
        lambda step, at, parts: at == parts - 1,
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
@settings(max_examples=25)
@given(LOOPS)
@example(Loop((Part(0, 50, 0), Part(0, 50, 50)), cores=0.5, return_us=0))  # its wait is over
@example(Loop((Part(0, 50, 0), Part(0, 50, 55)), cores=0.5, return_us=0))  # before it begins
def test_the_range_holds_the_truth(change: Change, loop: Loop) -> None:
    found = change.predict(loop.traced())
    actual = loop.actual(lambda step, at: change.leaves(step, at, len(loop.parts)))
    assert found.basis == "inferred"
    assert found.low_ns - loop.left_over <= actual <= found.high_ns + loop.left_over


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
@pytest.mark.parametrize("overlap", ["measured", "unknown"])
@settings(max_examples=15)
@given(LOOPS)
def test_no_prediction_is_below_what_the_trace_proves(
    overlap: str, change: Change, loop: Loop
) -> None:
    """The host does its own work all the same, and while it was blocked the device was at work."""
    trace = loop.traced()
    waited = sum(site.steady_stall_ns for site in trace.sites)
    own = trace.steady_duration_ns - waited
    returns = RETURN_NS * sum(site.steady_count for site in trace.sites)
    found = change.predict(trace if overlap == "measured" else replace(trace, extra={}))
    assert found.step_ns >= own / STEPS - 1
    assert found.step_ns >= (waited - returns) / STEPS - 1
    assert found.step_ns <= found.before_ns + 1


@pytest.mark.parametrize("waited", [10, 50, 150, 1_000])
def test_a_short_wait_does_not_make_the_work_behind_it_small(waited: int) -> None:
    """The device was busy all along: without waits it is still the one that bounds the step."""
    loop = Loop((Part(0, 3_000 + waited, 3_000),))
    found = predict(loop.traced(), every=[(site, 10) for site in loop.traced().sites])
    actual = loop.actual(lambda step, at: step % 10 == 0)
    assert found.low_ns <= actual <= found.high_ns
    assert found.high_ns >= (3_000 + waited) * US
    if waited * US > WOKEN_LATE_NS:
        assert found.step_ns == pytest.approx(actual, rel=0.02)


def test_work_before_each_wait_is_told_apart() -> None:
    """Before one wait the device was busy, before the other it was idle: not half each."""
    loop = Loop((Part(2_000, 1_000, 0), Part(0, 3_000, 2_000)))
    trace = loop.traced()
    together = {k: v for k, v in trace.extra.items() if k != "backend_overlap_by_site"}
    first = [site for site in trace.sites if site.line == 10]
    actual = loop.actual(lambda step, at: at == 1)
    apart = predict(trace, remove=first)
    assert apart.step_ns == pytest.approx(actual, rel=0.02)
    assert predict(replace(trace, extra=together), remove=first).step_ns < 0.9 * actual
    assert NO_OVERLAP < trace.extra["backend_overlap"] < 1
