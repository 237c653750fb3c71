"""The head of the page: what was run, the three figures that matter, and where a step goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from asyncguard.advise.ranks import RankReport
from asyncguard.model import Suggestion, TraceRecord
from asyncguard.render.summary import has_times, percent
from asyncguard.render.words import count, duration
from asyncguard.timeline.program import whole_steps

BASES = {
    "measured": "measured",
    "modelled": "simulated: times are modelled",
    "stand-in": "counted: counts are those of a GPU run, times are not",
}
Spans = list[tuple[int, int]]  # disjoint, in order


@dataclass(frozen=True)
class Key:
    """One of the figures that come first; `href` leads to what it is about."""

    value: str
    label: str
    href: str = ""


@dataclass(frozen=True)
class Part:
    """A part of the bar: its class, its share in percent, and what it is in words."""

    kind: str
    left: float
    width: float
    name: str
    said: str


@dataclass(frozen=True)
class Bar:
    """Where the time of a step goes."""

    title: str
    parts: tuple[Part, ...]


def date(started: str) -> str:
    """A date and time as a person reads it; "" for ""."""
    return f"{started[:16].replace('T', ' ')} UTC" if started else ""


def facts(record: TraceRecord) -> list[tuple[str, str]]:
    """What the figures are of, by name."""
    extra = record.extra
    versions = [f"{name} {version}" for name, version in record.frameworks.items()]
    if record.asyncguard_version:
        versions.append(f"asyncguard {record.asyncguard_version}")
    told = [
        ("Device", record.device),
        ("Figures", BASES.get(record.basis, "")),
        ("Date", date(str(extra.get("started", "")))),
        ("Run", _run(record)),
        *((name.capitalize(), str(extra.get(name) or "")) for name in ("job", "host", "revision")),
        ("Rank", str(extra.get("rank", ""))),
        ("Versions", ", ".join(versions)),
    ]
    return [(name, value) for name, value in told if value]


def _run(record: TraceRecord) -> str:
    steps = count(record.step_count, "step") if record.step_count else "no steps"
    return f"{steps}, {duration(record.duration_ns)}" if has_times(record) else steps


def rank_facts(report: RankReport) -> list[tuple[str, str]]:
    """What many traces have in common, by name."""
    devices = "; ".join(report.devices)
    told = [
        ("Device", devices),
        ("Figures", "; ".join(BASES.get(basis, basis) for basis in report.bases)),
        ("Date", date(report.started)),
        ("Command", "; ".join(report.commands)),
        *((name.capitalize(), value) for name, value in report.identity if value != devices),
    ]
    return [(name, value) for name, value in told if value]


def keys(record: TraceRecord, suggestions: Sequence[Suggestion]) -> list[Key]:
    """Waits a step, the share of its time that they take, what the first suggestion saves."""
    rate, timed = record.syncs_per_step, has_times(record)
    waits = (
        _waits(record.total_syncs, " in this run, which has no steps")
        if rate is None
        else Key(f"{rate:,.2f}", "waits a step")
    )
    step, stall = step_times(record)
    where = Key(f"{len(record.sites):,}", "sites that wait", "#sites")
    if timed:
        whole = "a step" if rate is not None else "the run"
        threads = ", all threads added up" if stall > step else ""
        where = Key(percent(stall, step), f"of {whole} is spent waiting{threads}")
    return [waits, where, _saving(record, suggestions, step if timed else 0)]


def _waits(number: int, where: str = "") -> Key:
    value, noun = count(number, "wait").split()
    return Key(value, noun + where)


def _saving(record: TraceRecord, suggestions: Sequence[Suggestion], step: float) -> Key:
    follow = [item for item in suggestions if item.worth]
    if not follow:
        return Key("none", "to save: no suggestion for this run")
    best = follow[0]
    unit = "a step" if record.step_count else "in all"
    if best.saving_ns_per_step is not None and step:
        sign = "\N{MINUS SIGN}" if best.saving_ns_per_step else ""
        label = f"time {unit}, predicted for the first suggestion"
        if best.saving_low_ns is None:
            label = f"time {unit} at best, by the first suggestion"
        return Key(f"{sign}{percent(best.saving_ns_per_step, step)}", label, "#suggestion-1")
    whole = record.syncs_per_step if record.step_count else record.total_syncs
    if not whole:
        return Key("1", "suggestion", "#suggestion-1")
    share = -best.syncs_saved_per_step / whole
    return Key(
        f"{share:+.0%}".replace("-", "\N{MINUS SIGN}"),
        f"waits {unit}, by the first suggestion",
        "#suggestion-1",
    )


def rank_keys(report: RankReport) -> list[Key]:
    """Waits a step, the share of the time that they take, what the first suggestion saves."""
    steps, waits = sum(report.steps), sum(report.totals)
    each = Key(f"{waits / steps:,.2f}", "waits a step") if steps else _waits(waits)
    where = Key(f"{len(report.sites):,}", "sites that wait", "#sites")
    if report.timed:
        share = percent(sum(report.stalls_ns), sum(report.durations_ns))
        where = Key(share, "of the time is spent waiting")
    told = report.advised
    if report.straggler is not None:
        return [
            each,
            where,
            Key(f"rank {report.straggler}", "is waited for by the others", "#ranks"),
        ]
    if told is None:
        return [each, where]
    step = step_times(told.record)[0] if has_times(told.record) else 0
    return [each, where, _saving(told.record, told.suggestions, step)]


def step_times(record: TraceRecord) -> tuple[float, float]:
    """Nanoseconds of a step, and of waiting in it; of the whole run where there are no steps."""
    if record.steady_steps:
        stall = sum(site.steady_stall_ns for site in record.sites)
        return record.steady_duration_ns / record.steady_steps, stall / record.steady_steps
    steps = max(record.step_count, 1)
    return record.duration_ns / steps, record.cpu_stall_ns / steps


def bar(record: TraceRecord) -> Bar | None:
    """Where a steady step goes; None where no time means anything.

    With a timeline that saw the device it is told apart when it had work; else only waiting is.
    """
    step, stall = step_times(record)
    if not has_times(record) or not step:
        return None
    whole = "A steady step" if record.steady_steps else "A step" if record.step_count else "The run"
    watched = _watched(record)
    if watched is not None:
        return watched
    waiting = min(stall, step)
    return _bar(
        f"{whole}: {duration(step)}",
        [("host", "Python works", step - waiting), ("wait", "Python waits", waiting)],
    )


def _watched(record: TraceRecord) -> Bar | None:
    """The mean of the steps of a timeline, by who works in it; None without the device's work."""
    events = record.timeline
    runs = _union((event.begin_ns, event.end_ns) for event in events if event.kind == "run")
    steps = whole_steps(events, record.step_count - record.steady_steps) if runs else []
    spans = _union((event.begin_ns, event.end_ns) for event in steps)
    if not spans:
        return None
    waits = _union((event.begin_ns, event.end_ns) for event in events if event.kind == "wait")
    waits, busy = _within(waits, spans), _within(runs, spans)
    step, wait, run = _length(spans), _length(waits), _length(busy)
    both = _length(_within(waits, busy))
    parts = [
        ("both", "Python and the device work", run - both),
        ("host", "Python works, the device has nothing to do", step - wait - run + both),
        ("wait", "Python waits, the device works", both),
        ("idle", "Python waits, the device has nothing to do", wait - both),
    ]
    title = f"A steady step: {duration(step / len(steps))}"
    if len(steps) > 1:
        title += f", the mean of {len(steps):,}"
    return _bar(title, [(kind, name, ns / len(steps)) for kind, name, ns in parts])


def _bar(title: str, parts: Iterable[tuple[str, str, float]]) -> Bar:
    found = [part for part in parts if part[2] > 0]
    whole = sum(ns for _, _, ns in found) or 1
    made, left = [], 0.0
    for kind, name, ns in found:
        made.append(Part(kind, left, 100 * ns / whole, name, duration(ns)))
        left += 100 * ns / whole
    return Bar(title, tuple(made))


def _union(spans: Iterable[tuple[int, int]]) -> Spans:
    made: Spans = []
    for begin, end in sorted(spans):
        if made and begin <= made[-1][1]:
            made[-1] = made[-1][0], max(end, made[-1][1])
        else:
            made.append((begin, end))
    return made


def _within(some: Spans, others: Spans) -> Spans:
    """What both have in common."""
    return list(_common(some, others))


def _common(some: Spans, others: Spans) -> Iterator[tuple[int, int]]:
    at = 0
    for begin, end in some:
        while at < len(others) and others[at][1] <= begin:
            at += 1
        number = at
        while number < len(others) and others[number][0] < end:
            yield max(begin, others[number][0]), min(end, others[number][1])
            number += 1


def _length(spans: Spans) -> int:
    return sum(end - begin for begin, end in spans)
