"""What the gate takes for a regression, and what it lets pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard import catalogue
from asyncguard.gate.baseline import Rate, of_findings, of_traces
from asyncguard.gate.compare import allowance, grown_sites, match_findings, stale_sites
from asyncguard.model import Finding, TraceRecord
from asyncguard.runtime.reading import to_record
from asyncguard.runtime.recorder import Recorder
from asyncguard.runtime.sites import Blocker, Site
from tests.records import finding, record, site, steady
from tests.runtime.helpers import Clock

findings = st.lists(
    st.builds(
        finding,
        path=st.sampled_from(["a.py", "b.py"]),
        function=st.sampled_from(["train", "evaluate"]),
        code=st.sampled_from(["ASG102", "ASG103"]),
        source=st.sampled_from(["x.item()", "y.item()"]),
        line=st.integers(1, 50),
    ),
    max_size=12,
)


@given(findings, st.integers(-5, 100))
def test_moved_lines_are_never_new(before: list[Finding], offset: int) -> None:
    after = [replace(f, line=f.line + offset, end_line=f.line + offset) for f in before]
    assert match_findings(after, of_findings(before), ()).new == ()


@given(findings, findings)
def test_as_many_are_new_as_came_on_top(before: list[Finding], added: list[Finding]) -> None:
    assert len(match_findings(before + added, of_findings(before), ()).new) == len(added)


def test_the_new_finding_is_the_one_that_is_named() -> None:
    old, new = finding(), finding(line=12, source="print(loss.item())", function="log")
    assert match_findings([old, new], of_findings([old]), ()).new == (new,)


@pytest.mark.parametrize(
    "change",
    [
        {"source": "sum_ += loss.item()"},
        {"function": "fit"},
        {"path": "engine/train.py"},
    ],
    ids=["edited line", "renamed function", "renamed file"],
)
def test_one_edit_at_a_time_is_recognised(change: dict[str, str]) -> None:
    old = finding()
    assert match_findings([finding(**change)], of_findings([old]), ()).new == ()
    assert (
        grown_sites(
            [record(steady(1, **change), steady_steps=10)],
            of_traces([record(steady(1), steady_steps=10)]),
        )
        == ()
    )


def test_another_api_in_the_same_line_is_new() -> None:
    new = finding(api="torch.Tensor.cpu", code="ASG103")
    assert match_findings([new], of_findings([finding()]), ()).new == (new,)


def with_sites(*sites, steps: int = 10) -> TraceRecord:
    return record(*sites, step_count=steps + 1, steady_steps=steps)


def test_a_new_site_is_a_regression() -> None:
    before = of_traces([with_sites()])
    (grown,) = grown_sites([with_sites(steady(1))], before)
    assert grown.before is None
    assert grown.now.per_step == 1


def test_a_site_that_waits_more_often_is_a_regression() -> None:
    before = of_traces([with_sites(steady(1))])
    (grown,) = grown_sites([with_sites(steady(2))], before)
    assert (grown.before, grown.now.per_step) == (Rate(10, 10), 2)


def test_the_same_rate_over_more_steps_passes() -> None:
    before = of_traces([with_sites(steady(1))])
    assert grown_sites([with_sites(steady(1, steps=500), steps=500)], before) == ()


def test_fewer_waits_pass() -> None:
    assert grown_sites([with_sites(steady(1))], of_traces([with_sites(steady(3))])) == ()


def test_without_steps_the_whole_run_counts() -> None:
    before = of_traces([record(site(count=3))])
    assert grown_sites([record(site(count=3))], before) == ()
    assert len(grown_sites([record(site(count=4))], before)) == 1


def test_what_runs_only_before_the_first_step_is_not_counted() -> None:
    setup = site(count=5, steady_count=0)
    assert grown_sites([with_sites(setup)], of_traces([with_sites()])) == ()


def test_allowed_sites_are_not_counted() -> None:
    allowed = replace(steady(1), allowed="log every 100")
    assert grown_sites([with_sites(allowed)], of_traces([with_sites()])) == ()


@given(st.integers(1, 200), st.integers(1, 400), st.integers(2, 50))
def test_a_periodic_site_passes_whatever_the_length_of_the_run(
    steps: int, later: int, period: int
) -> None:
    before = Rate(len(range(0, steps, period)), steps)
    assert len(range(0, later, period)) <= allowance(before, later)


@given(st.integers(0, 20), st.integers(1, 100), st.integers(1, 100))
def test_a_whole_rate_is_exact(rate: int, steps: int, later: int) -> None:
    assert allowance(Rate(rate * steps, steps), later) == rate * later


def test_of_several_traces_the_highest_rate_counts() -> None:
    rates = of_traces([with_sites(steady(1)), with_sites(steady(3)), with_sites(steady(2))])
    assert [rate.per_step for rate in rates.values()] == [3]


class Program:
    """Trains for some epochs; validates after each, logs now and then, reads once at both ends."""

    def __init__(self, steps: int, batches: int, every: int, sanity_check: bool) -> None:
        self.steps = steps
        self.batches = batches
        self.every = every
        self.sanity_check = sanity_check

    def trace(self, epochs: int, added: str = "") -> TraceRecord:
        """A run; one more read was `added` beside those of a part."""
        recorder = Recorder(Clock(1))
        recorder.start()

        def read(part: str) -> None:
            for _ in range(2 if part == added else 1):
                recorder.end(SITES[part], recorder.begin())

        def validate() -> None:
            for _ in range(self.batches):
                read("validation")

        read("start")
        if self.sanity_check:
            validate()
        for at in range(epochs * self.steps):
            if at % self.every == 0:
                read("log")
            read("step")
            recorder.mark(None)
            if (at + 1) % self.steps == 0:
                validate()
                read("epoch")
        read("end")
        return to_record(recorder.take(), "", "", {"torch": ""})


POINT = catalogue.load()["torch.Tensor.item"]
SITES = {
    part: Site(Blocker(POINT, "cuda:0", False), f"{part}.py", 1, part, ())
    for part in ("start", "validation", "log", "step", "epoch", "end")
}
PROGRAMS = st.builds(
    Program, st.integers(3, 9), st.integers(1, 5), st.integers(1, 12), st.booleans()
)


@given(PROGRAMS, st.integers(1, 10))
def test_other_epochs_of_the_same_code_pass(program: Program, epochs: int) -> None:
    accepted = of_traces([program.trace(3)])
    assert grown_sites([program.trace(epochs)], accepted) == ()
    if epochs < 3:
        assert stale_sites([program.trace(epochs)], accepted) == []


@given(PROGRAMS, st.integers(2, 10), st.sampled_from(["validation", "step", "epoch"]))
def test_one_added_read_fails_whatever_the_number_of_epochs(
    program: Program, epochs: int, part: str
) -> None:
    accepted = of_traces([program.trace(3)])
    (grown,) = grown_sites([program.trace(epochs, added=part)], accepted)
    assert grown.key.function == part
    unknown = {key: rate for key, rate in accepted.items() if key.function != part}
    (new,) = grown_sites([program.trace(epochs)], unknown)
    assert (new.key.function, new.before) == (part, None)


def test_a_read_that_moves_from_the_epoch_into_the_step_fails() -> None:
    accepted = of_traces([Program(8, 1, 8, False).trace(3)])
    (grown,) = grown_sites([Program(8, 1, 1, False).trace(3)], accepted)
    assert grown.key.function == "log"
