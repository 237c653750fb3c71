"""The HTML page: valid, small, safe, and complete, whatever a run holds."""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard import reports
from asyncguard.advise.ranks import merge
from asyncguard.advise.repairs import Patch
from asyncguard.model import STAND_IN, CallPath, SiteStats, Suggestion, TimelineEvent, TraceRecord
from asyncguard.render import Screen, TraceReport, formats
from asyncguard.render.html.document import DETAILS, LIMIT
from asyncguard.render.html.head import bar
from asyncguard.runtime import store
from tests.records import record, site, steady
from tests.render.pages import EVENTS, Parsed, digest, sites, whole

pytest.importorskip("jinja2", reason="jinja2 is not installed")

SCREEN = Screen()
PATCH = "--- a/t.py\n+++ b/t.py\n@@ -1 +1 @@\n-old < line\n+new > line\n"


def page_of(run: TraceRecord, **values: Any) -> str:
    report = reports.of(run) if "suggestions" not in values else TraceReport(run)
    return formats("traces")["html"](replace(report, **values), SCREEN)


def ranks_page(*runs: TraceRecord) -> str:
    return formats("ranks")["html"](merge(runs), SCREEN)


EMPTY = record()
PAGES = {
    "whole": lambda: page_of(whole(), patches={0: Patch(("do `this`",), True, PATCH)}),
    "empty": lambda: page_of(EMPTY),
    "without waits": lambda: page_of(record(step_count=5, steady_steps=4, step_syncs=(0,) * 4)),
    "without steps": lambda: page_of(record(*sites())),
    "stand-in": lambda: page_of(record(*(replace(s, device=STAND_IN) for s in sites()))),
    "ranks": lambda: ranks_page(*(replace(whole(), extra={"rank": at}) for at in range(3))),
    "ranks without waits": lambda: ranks_page(EMPTY, EMPTY),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_one_valid_document(name: str) -> None:
    page = PAGES[name]()
    parsed = Parsed(page)
    assert parsed.declared == ["doctype html"]
    assert page.startswith("<!doctype html>")
    for tag in ("html", "head", "body", "main", "h1", "header"):
        assert len(parsed.all(tag)) == 1
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    referred = [a[k] for _, a in parsed.tags for k in ("aria-labelledby", "for") if k in a]
    anchors = [a["href"][1:] for a in parsed.all("a") if a["href"].startswith("#")]
    assert set(referred + anchors) <= set(ids)
    assert parsed.headings[0] == 1
    assert all(b - a <= 1 for a, b in zip(parsed.headings, parsed.headings[1:], strict=False))
    for _, attributes in parsed.tags:
        assert not {k for k in attributes if k.startswith("on") or k in ("style", "src")}


@pytest.mark.parametrize("name", PAGES)
def test_the_browser_runs_and_loads_nothing_but_what_the_policy_names(name: str) -> None:
    parsed = Parsed(PAGES[name]())
    (style,), (script,) = parsed.raw["style"], parsed.raw["script"]
    rules = dict(rule.strip().split(" ", 1) for rule in parsed.policy.split(";"))
    assert rules.pop("style-src") == digest(style)
    assert rules.pop("script-src") == digest(script)
    assert set(rules.values()) == {"'none'"}
    assert not re.search(r"url\(|@import|fetch\(|import\(", style + script)


def test_the_head_says_what_the_figures_are_of() -> None:
    text = " ".join(Parsed(PAGES["whole"]()).text.split())
    head = text[: text.index("What to do first")]
    for told in ("NVIDIA H200 (simulated)", "simulated: times are modelled", "train.py",
                 "2026-11-28 05:40 UTC", "11 steps", "torch 2.13.0"):  # fmt: skip
        assert told in head
    assert "5 ms" not in head
    assert "torch was not hooked." in head


def test_the_keys_are_waits_stall_and_the_first_saving() -> None:
    first = Suggestion("Read once", "advice", (), 2.0, 250_000, saving_low_ns=1, saving_high_ns=2)
    page = page_of(whole(), suggestions=(first,))
    assert re.findall(r"<li><b>(.+?)</b>", page)[:3] == ["3.00", "50%", "\N{MINUS SIGN}25%"]
    (bound,) = [replace(first, saving_low_ns=None, saving_high_ns=None)]
    assert "at best, by the first suggestion" in page_of(whole(), suggestions=(bound,))
    assert "no suggestion for this run" in page_of(whole(), suggestions=())
    counted = replace(whole(), sites=tuple(replace(s, device=STAND_IN) for s in sites()))
    page = page_of(counted, suggestions=(replace(first, saving_ns_per_step=None),))
    assert re.findall(r"<li><b>(.+?)</b>", page)[:3] == ["3.00", "3", "\N{MINUS SIGN}67%"]


def test_one_is_one() -> None:
    shown = page_of(record(site(count=1, callers=("a.py:1 f",))))
    assert "<b>1</b> <span>wait in this run" in shown
    assert "100.0%, 1 wait" in shown
    assert "1 waits" not in shown


def test_the_bar_tells_who_works() -> None:
    found = bar(whole())
    assert found is not None
    assert {part.kind: part.said for part in found.parts} == {
        "both": "50 ns", "host": "450 ns", "wait": "450 ns", "idle": "50 ns",
    }  # fmt: skip
    alone = bar(replace(whole(), timeline=()))
    assert alone is not None
    assert [(part.kind, part.said) for part in alone.parts] == [
        ("host", "500 us"), ("wait", "500 us"),
    ]  # fmt: skip


spans = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 60)), max_size=8)


@given(spans, spans)
def test_the_parts_of_the_bar_make_the_whole(
    waits: list[tuple[int, int]], runs: list[tuple[int, int]]
) -> None:
    timeline = [TimelineEvent("step", f"step {at}", 100 * at, 100 * at + 100) for at in range(3)]
    for kind, events in (("wait", waits), ("run", runs)):
        timeline += [TimelineEvent(kind, kind, begin, begin + ns) for begin, ns in events]
    found = bar(replace(whole(), timeline=tuple(timeline)))
    assert found is not None
    assert sum(part.width for part in found.parts) == pytest.approx(100)
    assert all(part.width > 0 for part in found.parts)


def test_suggestions_come_with_their_patch_and_how_to_try_it() -> None:
    items = tuple(Suggestion(f"Do {n}", "advice", (), 1.0, 10 - n) for n in range(3))
    patches = {1: Patch(("add `it` up",), False, PATCH)}
    page = page_of(whole(), suggestions=items, patches=patches)
    text = Parsed(page).text
    assert text.index("Do 0") < text.index("Do 1") < text.index("+new > line") < text.index("Do 2")
    assert "read what it changes" in text
    assert '<span class="remove">-old &lt; line' in page
    assert "asyncguard tune --unsafe-fixes --sim cuda train.py" in text
    assert "Try the patches" not in page_of(whole(), suggestions=items)


def test_the_table_begins_with_what_costs_most_and_opens_to_the_source() -> None:
    parsed = Parsed(PAGES["whole"]())
    assert len(parsed.all("tbody")) == 3 + 1  # and the one of the timeline
    places = re.findall(r"<b>(\w\.py:\d+)</b>", PAGES["whole"]())
    assert places == ["t.py:20", "t.py:3", "u.py:9"]
    assert [head.get("aria-sort") for head in parsed.all("th")][:3] == [None, "descending", None]
    text = " ".join(parsed.text.split())
    for told in ("2before", "3loss.item()", "4after", "train.py:5 in fit <- train.py:9 in"):
        assert told in text


def test_below_the_table_are_breaks_races_notes_and_the_timeline_as_a_table() -> None:
    text = " ".join(Parsed(PAGES["whole"]()).text.split())
    for told in (
        "2 x model.py:7 in forward", "splits the graph: print", "ASG404", "A note.",
        "The timeline as a table", "2.00 waits per token",
    ):  # fmt: skip
        assert told in text
    times = ["1.00 us", "10 ns", "500 ns", "500 ns", "150 ns"]
    row = '<th scope="row">step 1</th>' + "".join(f"<td>{time}</td>" for time in times)
    assert row in PAGES["whole"]()


def test_unmeasured_device_time_is_not_a_zero() -> None:
    assert "GPU idle" not in PAGES["whole"]()
    assert "GPU idle" in page_of(record(site(gpu_stall_ns=7)))


NASTY = (
    "</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'--></style>",
    "\u202ertl\u2066", "{{ 7 * 7 }}", "a & b", "x" * 10_000, "\x00\x1b[2J", "\N{SNOWMAN}" * 3000,
)  # fmt: skip


def hostile(text: str) -> tuple[TraceRecord, dict[str, Any]]:
    """A run whose every text is that one."""
    bad = replace(
        site(gpu_stall_ns=3),
        path=text, function=text, api=text, source=text, device=text, allowed=None,
        callers=(f"{text}:3 {text}",), library=(text,), why=text,
        paths=(CallPath((text,), 2, 3), CallPath((text, text), 1, 2)),
    )  # fmt: skip
    run = replace(
        whole(), sites=(bad, replace(bad, allowed=text)), command=text, device=text, notes=(text,),
        faults=(text,), exception=text, frameworks={text: text},
        sources={text: {9: text, 10: text}},
        timeline=tuple(replace(e, name=text) for e in EVENTS if e.kind != "step"),
        extra={
            "started": text, "host": text, "rank": text,
            "graph_breaks": [{**whole().extra["graph_breaks"][0], "path": text, "source": text}],
            "races": [{"code": text, "copy": text}],
        },
    )  # fmt: skip
    values: dict[str, Any] = {
        "suggestions": (Suggestion(text, f"`{text}`", (bad,), 1.0, None),),
        "hints": (text,),
        "patches": {0: Patch((text,), True, text)},
        "advice": {text: text},
        "urls": {text: text},
    }
    return run, values


@pytest.mark.parametrize("text", NASTY)
def test_nothing_from_the_program_is_more_than_text(text: str) -> None:
    plain = Parsed(page_of(hostile("plain")[0], **hostile("plain")[1]))
    run, values = hostile(text)
    page = page_of(run, **values)
    parsed = Parsed(page)
    if len(text) < 100:  # else it is shown at less detail
        assert [tag for tag, _ in parsed.tags] == [tag for tag, _ in plain.tags]
    assert {tag for tag, _ in parsed.tags} <= {tag for tag, _ in plain.tags}
    assert parsed.raw == plain.raw
    assert len(page.encode()) < LIMIT
    assert "49" not in parsed.text
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", page)
    ranks = Parsed(ranks_page(run, run))
    assert len(ranks.raw["script"]) == 1


def large(count: int, text: str) -> TraceRecord:
    """A run with so many of everything, each as long as the text."""
    many = tuple(
        replace(
            steady(2, line=at + 1, stall_ns=9 * count - at, path=f"{text}/{at}.py", source=text),
            callers=tuple(f"{text}{depth}.py:{depth} f{depth}" for depth in range(30)),
        )
        for at in range(count)
    )
    steps = [TimelineEvent("step", f"step {at}", at * 1000, at * 1000 + 1000) for at in range(20)]
    events = [
        TimelineEvent(kind, text, at * 20000 // count, at * 20000 // count + 2)
        for kind in ("enqueue", "wait", "run", "idle")
        for at in range(count)
    ]
    return replace(
        whole(), sites=many, timeline=(*steps, *events), notes=(text,) * count,
        faults=(text,) * count, step_syncs=tuple(range(count)),
        sources={s.path: dict.fromkeys(range(s.line - 3, s.line + 4), text) for s in many},
        frameworks={f"{text}{at}": text for at in range(count)},
    )  # fmt: skip


@pytest.mark.parametrize(("count", "text"), [(3000, "plain"), (3000, "\U0001f525&" * 400)])
def test_the_page_stays_small_and_says_what_it_leaves_out(count: int, text: str) -> None:
    run = large(count, text)
    item = Suggestion(text, text, run.sites[:3], 1.0, 9)
    patches = dict.fromkeys(range(20), Patch((text,) * count, True, "+ line\n" * count))
    page = page_of(run, suggestions=(item,) * count, hints=(text,) * count, patches=patches)
    assert len(page.encode()) < LIMIT
    told = " ".join(Parsed(page).text.split())
    for noun in ("sites", "suggestions", "hints", "notes", "reasons", "repairs", "lines"):
        assert re.search(rf"\d,\d\d\d more {noun}, left out", told)
    assert "asyncguard report --format json" in told
    ranks = ranks_page(*(replace(run, extra={"rank": at}) for at in range(2)))
    assert len(ranks.encode()) < LIMIT


def test_detail_falls() -> None:
    for before, after in itertools.pairwise(DETAILS):
        assert before.sites >= after.sites
        assert before.text > after.text
        assert before.grain < after.grain


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=300), st.integers(1, 40))
def test_any_text_makes_a_valid_page(text: str, count: int) -> None:
    run, values = hostile(text)
    Parsed(page_of(replace(run, notes=(text,) * count), **values))


def test_so_many_sites_are_shown_as_were_asked_for() -> None:
    many = record(*(site(line=at + 1) for at in range(400)))
    for limit in (1, 7, 300):
        assert page_of(many, limit=limit).count("<tbody") == limit


def test_the_page_shows_the_lines_that_the_trace_holds_and_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("a = 1\nb = 2\nloss.item()\nprivate = 3\n")
    os.mkfifo(tmp_path / "fifo")
    held = {"t.py": {2: "before = 2", 3: "loss.item()", 99: "far away"}}
    first = sites()[0]
    run = record(first, replace(first, path="fifo"), root=str(tmp_path), sources=held)
    page = page_of(run)
    assert "before = 2" in page
    assert "private" not in page
    assert "far away" not in page


def saved(folder: Path, *runs: TraceRecord) -> list[Path]:
    paths = [folder / f"{at}.json" for at in range(len(runs))]
    for path, run in zip(paths, runs, strict=True):
        store.save(run, path)
    return paths


def test_several_traces_are_one_document(tmp_path: Path) -> None:
    paths = saved(tmp_path, whole(), whole())
    page = reports.of_files(paths, "html", SCREEN)
    Parsed(page)
    assert page.count("<!doctype") == 1
    assert "asyncguard: 2 traces" in page


def test_the_page_of_ranks_says_what_it_is_of_and_what_to_do_in_the_slowest(tmp_path: Path) -> None:
    slow = replace(whole(), sites=(*sites()[:2], replace(sites()[2], cpu_stall_ns=10**9)))
    runs = (replace(run, extra={**run.extra, "rank": at}) for at, run in enumerate((whole(), slow)))
    page = reports.of_files(saved(tmp_path, *runs), "html", SCREEN)
    text = " ".join(Parsed(page).text.split())
    for told in ("NVIDIA H200 (simulated)", "simulated: times are modelled", "train.py",
                 "2026-11-28 05:40 UTC", "What to do first in rank 1, which waited longest",
                 "read 2 values"):  # fmt: skip
        assert told in text
    same = replace(whole(), extra={"rank": 0, "devices": ["NVIDIA H200 (simulated)"]})
    assert ranks_page(same, replace(same, extra={"rank": 1})).count("H200") == 1


def test_a_rank_that_is_late_comes_first() -> None:
    barrier = {"api": "torch.distributed.barrier"}
    runs = [record(site(cpu_stall_ns=at * 10**6, **barrier), extra={"rank": at}) for at in range(3)]
    page = ranks_page(*runs)
    assert "<b>rank 0</b>" in page
    advised = reports.of(whole())
    item = Suggestion("Read once", "advice", (), 1.0, 9)
    late = replace(merge(runs), advised=replace(advised, suggestions=(item,)))
    page = formats("ranks")["html"](late, SCREEN)
    assert page.index("Look at rank 0 first") < page.index("Read once")
    assert "Then, in rank 2, which waited longest:" in page


def test_a_chart_of_equal_bars_is_not_drawn() -> None:
    assert "Waits in each of the newest 10 steps" in PAGES["whole"]()
    assert "Waits in each" not in page_of(replace(whole(), step_syncs=(3,) * 10))


def test_an_allowed_site_says_so() -> None:
    allowed: SiteStats = replace(sites()[0], allowed="log every 100")
    assert "Allowed: log every 100" in formats("traces")["html"](
        TraceReport(record(allowed)), SCREEN
    )
