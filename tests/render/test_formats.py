"""Every format shows what the record says, and the pages work in a real browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard.advise.ranks import merge
from asyncguard.gate.baseline import Rate, SiteKey
from asyncguard.gate.compare import GrownSite
from asyncguard.model import (
    AsyncguardError,
    CallPath,
    SiteStats,
    Suggestion,
    SyncKind,
    TimelineEvent,
)
from asyncguard.render import FindingsReport, Screen, TraceReport, formats, gate
from asyncguard.render.words import duration
from tests.records import finding, record, site, steady

SCREEN = Screen()
STEADY = steady(2, stall_ns=100_000, line=3, path="t.py", source="loss.item()")
EVENTS = (
    TimelineEvent("step", "step 1", 0, 1000),
    TimelineEvent("enqueue", "dot", 10, 20, thread="main"),
    TimelineEvent("wait", "torch.Tensor.item", 100, 600, thread="main", site=0),
    TimelineEvent("run", "dot", 50, 550, thread="worker 0"),
    TimelineEvent("idle", "idle", 550, 700, thread="worker 0", cause=2),
)
REPORT = TraceReport(
    record(
        STEADY,
        site(line=9, path="u.py", cpu_stall_ns=5, source="a < b"),
        step_count=11,
        steady_steps=10,
        steady_duration_ns=10**7,
        step_syncs=(2,) * 10,
        frameworks={"torch": "2.13.0"},
        timeline=EVENTS,
    ),
    (Suggestion("Read 2 values", "Stack | them", (STEADY,), 1.0, 200_000),),
    {"torch.Tensor.item": "Read it once."},
    {"torch.Tensor.item": "https://docs.pytorch.org/item"},
    "a trace",
)


def test_formats_are_found_by_walking() -> None:
    assert {"text", "json", "markdown"} <= formats("findings").keys()
    assert {"text", "json", "markdown", "html", "perfetto"} <= formats("traces").keys()


@pytest.mark.parametrize("name", ["text", "json", "markdown", "html"])
def test_every_trace_format_names_sites_apis_and_advice(name: str) -> None:
    text = formats("traces")[name](REPORT, SCREEN)
    for expected in ("t.py", "u.py", "torch.Tensor.item", "Read 2 values", "loss.item()"):
        assert expected in text


@pytest.mark.parametrize("name", sorted(formats("findings")))
def test_every_findings_format_names_place_and_rule(name: str) -> None:
    report = FindingsReport((finding(advice="Read it once."),), 3)
    text = formats("findings")[name](report, SCREEN)
    for expected in ("train.py", "ASG102"):
        assert expected in text
    if name not in ("concise", "gitlab", "grouped"):  # which keep to one line, or to a description
        assert "Read it once." in text


def test_text_fits_80_columns() -> None:
    long = replace(REPORT.record.sites[0], source="x")
    text = formats("traces")["text"](
        replace(REPORT, record=replace(REPORT.record, sites=(long,))), SCREEN
    )
    assert max(map(len, text.splitlines())) <= 80


def test_text_keeps_brackets_of_source_and_advice() -> None:
    report = FindingsReport((finding(message="`x[mask]`", source="y = x[mask]"),), 1)
    text = formats("findings")["text"](report, SCREEN)
    assert "`x[mask]`" in text
    assert "y = x[mask]" in text


def test_a_place_stays_whole_however_long_the_path() -> None:
    path = "a_rather_long_folder_name/" * 5 + "train.py"
    text = formats("findings")["text"](FindingsReport((finding(path=path),), 1), SCREEN)
    assert text.startswith(f"{path}:10:9:")


@pytest.mark.parametrize(
    ("nanoseconds", "expected"),
    [(0, "0 ns"), (999, "999 ns"), (1500, "1.50 us"), (2.5e6, "2.50 ms"), (123e9, "123 s")],
)
def test_durations_are_in_the_unit_a_person_reads(nanoseconds: float, expected: str) -> None:
    assert duration(nanoseconds) == expected


def test_unmeasured_device_time_is_not_a_zero() -> None:
    assert "device idle" not in formats("traces")["text"](REPORT, SCREEN)
    assert json.loads(formats("traces")["json"](REPORT, SCREEN))["gpu_stall_ns"] is None


def test_markdown_escapes_what_would_break_a_table() -> None:
    text = formats("traces")["markdown"](REPORT, SCREEN)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_perfetto_has_host_and_device_tracks_and_a_flow_to_each_bubble() -> None:
    events = json.loads(formats("traces")["perfetto"](REPORT, SCREEN))["traceEvents"]
    spans = {(e["cat"], e["pid"]): e for e in events if e["ph"] == "X"}
    assert set(spans) == {("step", 1), ("enqueue", 1), ("wait", 1), ("run", 2), ("idle", 2)}
    assert (spans["wait", 1]["ts"], spans["wait", 1]["dur"]) == (0.1, 0.5)
    assert spans["wait", 1]["args"]["site"] == "t.py:3"
    start, finish = (next(e for e in events if e["ph"] == kind) for kind in "sf")
    assert start["id"] == finish["id"]
    assert (start["pid"], finish["pid"]) == (1, 2)


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (0, 0, "before the second step"),
        (5, 5, "after the last step"),
        (0, 4, "0.20 per step"),
        (4, 5, "in 1 of 5 steps"),
    ],
)
def test_set_up_and_what_follows_the_last_step_are_no_steps(
    first: int, last: int, said: str
) -> None:
    place = site(count=1, first_step=first, last_step=last, steps=3 if said[0] == "0" else 1)
    text = formats("traces")["text"](TraceReport(record(place, step_count=5)), SCREEN)
    assert said in text


def test_perfettos_tracks_have_names_and_no_process_is_empty() -> None:
    """Nor is the start-up of the program taken for a step."""
    steps = (TimelineEvent("step", "step 0", 0, 900), TimelineEvent("step", "step 1", 900, 1000))
    report = replace(REPORT, record=replace(REPORT.record, timeline=(*steps, *EVENTS[1:3])))
    events = json.loads(formats("traces")["perfetto"](report, SCREEN))["traceEvents"]
    named = [event for event in events if event["ph"] == "M"]
    assert all(event["args"]["name"] for event in named)
    assert {event["pid"] for event in named} == {e["pid"] for e in events if e["ph"] == "X"} == {1}
    found = [event["name"] for event in events if event.get("cat") == "step"]
    assert found == ["start-up and step 0", "step 1"]


@pytest.mark.parametrize("idle_from", [50, 100, 550])
def test_perfettos_flows_begin_in_the_wait_and_end_later_in_the_bubble(idle_from: int) -> None:
    *others, idle = EVENTS
    idle = replace(idle, begin_ns=idle_from)
    report = replace(REPORT, record=replace(REPORT.record, timeline=(*others, idle)))
    events = json.loads(formats("traces")["perfetto"](report, SCREEN))["traceEvents"]
    start, finish = (next(e for e in events if e["ph"] == kind) for kind in "sf")
    assert start["ts"] <= finish["ts"]
    for flow, category in ((start, "wait"), (finish, "idle")):
        span = next(e for e in events if e.get("cat") == category and e["ph"] == "X")
        assert (span["pid"], span["tid"]) == (flow["pid"], flow["tid"])
        assert span["ts"] <= flow["ts"] <= span["ts"] + span["dur"]


def test_perfetto_without_a_timeline_says_how_to_get_one() -> None:
    with pytest.raises(AsyncguardError, match="--timeline"):
        formats("traces")["perfetto"](TraceReport(record(site())), SCREEN)


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f\r"
CONTROLS = {character for character in HOSTILE if not character.isprintable()}


@pytest.mark.parametrize("name", ["text", "json", "markdown", "html", "perfetto"])
def test_no_format_of_a_trace_lets_control_characters_through(name: str) -> None:
    bad = replace(
        STEADY,
        **dict.fromkeys(
            ("path", "function", "api", "framework", "source", "device", "thread"), f"a{HOSTILE}b"
        ),
        callers=(HOSTILE,),
        library=(HOSTILE,),
        paths=(CallPath((HOSTILE,), 1, 2),),
    )
    hostile = TraceReport(
        replace(
            REPORT.record,
            sites=(bad, replace(bad, allowed=HOSTILE)),
            command=HOSTILE,
            frameworks={HOSTILE: HOSTILE},
            notes=(HOSTILE,),
            root=HOSTILE,
            sources={bad.path: {3: HOSTILE}},
            timeline=tuple(replace(e, name=HOSTILE, thread=HOSTILE) for e in EVENTS),
        ),
        (Suggestion(HOSTILE, HOSTILE, (bad,), 1.0, None, HOSTILE),),
        {bad.api: HOSTILE},
        {bad.api: HOSTILE},
        HOSTILE,
    )
    text = formats("traces")[name](hostile, SCREEN)
    assert not set(text) & CONTROLS
    if name in ("json", "perfetto"):
        json.loads(text)


@pytest.mark.parametrize("name", formats("ranks"))
def test_no_format_of_ranks_lets_control_characters_through(name: str) -> None:
    bad = replace(STEADY, path=HOSTILE, source=HOSTILE, api=HOSTILE)
    merged = merge([record(bad, extra={"rank": rank}) for rank in range(2)])
    assert not set(formats("ranks")[name](merged, SCREEN)) & CONTROLS


def test_nor_do_findings_and_gates() -> None:
    bad = finding(path=HOSTILE, message=HOSTILE, source=HOSTILE, function=HOSTILE)
    for show in formats("findings").values():
        assert not set(show(FindingsReport((bad,), 1), SCREEN)) & CONTROLS
    waits = replace(STEADY, source=HOSTILE, path=HOSTILE)
    grown = GrownSite(waits, SiteKey(HOSTILE, "f", "torch", "api", HOSTILE), None, Rate(1, 1))
    assert not set(gate.verdict(Path("b.json"), [bad], [grown], {}, SCREEN)) & CONTROLS


def run(*sites: SiteStats, steps: int = 32, **values: Any) -> TraceReport:
    steady_ns = 10**6 * (steps - 1)
    return TraceReport(
        record(
            *sites,
            step_count=steps,
            steady_steps=steps - 1,
            steady_duration_ns=steady_ns,
            duration_ns=10**10,
            **values,
        )
    )


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_what_the_figures_per_step_leave_out_is_said(name: str) -> None:
    hot = replace(steady(1, steps=31), count=33, steps=32)
    evaluation = site(count=40, steady_count=40, steady_stall_ns=0, steps=2, line=3)
    text = " ".join(formats("traces")[name](run(hot, evaluation), SCREEN).split())
    assert "2 waits are not in these figures: in the warm-up step, or after the last step" in text
    assert "40 waits at 1 site in few of the steps: evaluation, logging or checkpoints" in text
    assert "in 2 of 32 steps" in text
    assert "of its time (1.00 us of 1.00 ms)" in text or "of a step is spent waiting" in text


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_where_the_cpu_stood_in_no_time_is_shown_and_the_note_is(name: str) -> None:
    stood_in = replace(steady(1, steps=31), device="cpu (stand-in)")
    report = run(stood_in, notes=("Times mean nothing.",))
    text = formats("traces")[name](replace(report, hints=("Do this.",)), SCREEN)
    assert "Times mean nothing." in text
    assert "Do this." in text
    assert not re.search(r"\d (us|ms|s|ns)\b", text)


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_what_gains_nothing_is_under_a_heading_of_its_own(name: str) -> None:
    follow = Suggestion("Follow", "advice", (STEADY,), 1.0, 200_000)
    leave = Suggestion("Leave", "advice", (STEADY,), 1.0, 0, worth=False)
    text = formats("traces")[name](replace(REPORT, suggestions=(follow, leave)), SCREEN)
    places = [text.index(w) for w in ("What to do", "Follow", "Not worth changing", "Leave")]
    assert places == sorted(places)
    assert "1 fewer wait, at most 200 us per step" in text


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_of_a_thousand_ranks_the_worst_are_shown(name: str) -> None:
    barrier = {"api": "torch.distributed.barrier", "kind": SyncKind.BARRIER}
    ranks = [
        record(site(cpu_stall_ns=at * 1000, **barrier), extra={"rank": at}) for at in range(1000)
    ]
    text = " ".join(formats("ranks")[name](merge(ranks), SCREEN).split())
    assert "Rank 0 came last at collectives most of the time: the others waited 5% of" in text
    assert "The 10 of 1,000 ranks that waited longest. Of all: least 0 ns" in text
    assert len(text) < 40_000  # the styles and the script alone are a third of it
    few = formats("ranks")[name](merge(ranks[:3]), SCREEN)
    assert "that waited longest" not in few


def test_markdown_quotes_source_that_holds_backticks() -> None:
    text = formats("traces")["markdown"](TraceReport(record(site(source="a `b` <c>"))), SCREEN)
    assert "`` a `b` <c> ``" in text
