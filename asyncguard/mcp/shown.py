"""Records of the linter and of traces -> what the tools return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from asyncguard import model
from asyncguard.gate import basis
from asyncguard.gate.baseline import Rate
from asyncguard.gate.compare import GrownSite
from asyncguard.gate.difference import Difference, Side, SiteChange
from asyncguard.lint.labels import labels
from asyncguard.lint.source.fixes import Sources, preview
from asyncguard.mcp import results
from asyncguard.mcp.children import MOST, Ended
from asyncguard.model import SiteStats, TraceRecord, to_plain
from asyncguard.places import place_of
from asyncguard.render.difference import number
from asyncguard.render.words import count, duration
from asyncguard.tune import outputs

CALLERS = 5  # of a site
MS = 1e6  # nanoseconds
ABOUT = {"value": "device", "doubt": "but", "place": "hot"}


def ms(nanoseconds: float) -> float:
    """Return milliseconds with as many digits as mean something."""
    return float(f"{nanoseconds / MS:.4g}")


def findings(found: Sequence[model.Finding]) -> list[results.Finding]:
    """Return findings with their evidence and the code of their repairs."""
    names = {label.code: label.name for label in labels()}
    sources = Sources({})
    return [_finding(finding, names, sources) for finding in found]


def _finding(found: model.Finding, names: Mapping[str, str], sources: Sources) -> results.Finding:
    return results.Finding(
        code=found.code,
        rule=names.get(found.code, ""),
        path=found.path,
        line=found.line,
        column=found.column,
        end_line=found.end_line,
        end_column=found.end_column,
        cell=found.cell,
        function=found.function,
        source=found.source.strip(),
        message=found.message,
        loop=found.loop.value,
        guarded=found.guarded,
        probability=round(found.probability, 3),
        why=[_reason(why) for why in found.reasons],
        remedy=found.advice,
        repair=_repair(found, sources),
    )


def _reason(why: model.FindingReason) -> str:
    cell = f"cell {why.cell}:" if why.cell else ""
    seen = f" ({why.path}:{cell}{why.line})" if why.line else ""
    return f"{ABOUT.get(why.about, why.about)}: {why.text}{seen}"


def _repair(found: model.Finding, sources: Sources) -> results.Repair | None:
    fix = found.fix
    if fix is None:
        return None
    return results.Repair(
        message=fix.message,
        applicability=fix.applicability.value,
        edits=[results.TextEdit(**to_plain(edit)) for edit in fix.edits],
        diff=preview(found, sources.around(found)) if fix.edits else [],
    )


def report(record: TraceRecord, trace: str, suggested: Sequence[model.Suggestion],
           advice: Mapping[str, str], limit: int) -> results.Report:  # fmt: skip
    """Return the figures of a run: the first `limit` sites and suggestions."""
    steps = bool(record.step_count)
    stall = record.per_step(record.cpu_stall_ns, sum(s.steady_stall_ns for s in record.sites))
    step = record.per_step(record.duration_ns, record.steady_duration_ns)
    worth = [item for item in suggested if item.worth]
    return results.Report(
        verdict=_figures(record),
        trace=trace,
        basis=basis.of(record),
        device=record.device,
        steps=record.step_count,
        waits=record.total_syncs,
        waits_per_step=rate(record.syncs_per_step),
        step_ms=ms(step) if steps and step is not None else None,
        stall_ms_per_step=ms(stall) if steps and stall is not None else None,
        sites=[_site(record, site, advice) for site in record.sites[:limit]],
        sites_left=max(len(record.sites) - limit, 0),
        suggestions=[_suggestion(item) for item in worth[:limit]],
        suggestions_left=max(len(worth) - limit, 0),
        troubles=list(record.troubles),
    )


def rate(value: float | None) -> float | None:
    """Return a rate with at most three decimals."""
    return None if value is None else round(value, 3)


def _figures(record: TraceRecord) -> str:
    """Say how often the program waited, and for how long: what is to become less."""
    if record.syncs_per_step is None:
        return (
            f"{record.total_syncs:,} waits in the run ({duration(record.cpu_stall_ns)} blocked); "
            "no step was marked: loop over `asyncguard.steps(loader)` to have figures a step"
        )
    step = record.per_step(record.duration_ns, record.steady_duration_ns) or 0
    return f"{number(record.syncs_per_step)} waits a step, {duration(step)} a step"


def _site(record: TraceRecord, site: SiteStats, advice: Mapping[str, str]) -> results.Site:
    steps = record.step_count
    stall = record.per_step(site.cpu_stall_ns, site.steady_stall_ns) if steps else None
    return results.Site(
        place=place_of(site.path, site.line),
        function=site.function,
        api=site.api,
        kind=site.kind.value,
        source=site.source,
        waits=site.count,
        waits_per_step=rate(record.per_step(site.count, site.steady_count)),
        stall_ms=ms(site.cpu_stall_ns if stall is None else stall),
        called_from=[*site.callers[:CALLERS]],
        remedy=advice.get(site.api, ""),
    )


def _suggestion(item: model.Suggestion) -> results.Suggestion:
    low, high = item.saving_low_ns, item.saving_high_ns
    saving = item.saving_ns_per_step
    return results.Suggestion(
        title=item.title,
        advice=item.advice,
        places=[place_of(site.path, site.line) for site in item.sites],
        waits_saved_per_step=round(item.syncs_saved_per_step, 3),
        saving_ms_per_step=None if saving is None else ms(saving),
        low_ms=None if low is None else ms(low),
        high_ms=None if high is None else ms(high),
    )


def diff(found: Difference, limit: int) -> results.Diff:
    """Return two traces side by side, the first `limit` sites."""
    predicted = found.expected
    return results.Diff(
        verdict=f"{change(found)}, {duration(found.before.step_ns)} -> "
        f"{duration(found.after.step_ns)}",
        unit=found.unit,
        before=_side(found.before),
        after=_side(found.after),
        predicted_ms=None if predicted is None else ms(predicted.step_ns),
        sites=[_change(site) for site in found.sites[:limit]],
        left=max(len(found.sites) - limit, 0),
    )


def change(found: Difference) -> str:
    """Say how the waits have changed: `8.8 -> 5.3 waits a step`."""
    before, after = found.before.total.waits, found.after.total.waits
    return f"{_short(before)} -> {_short(after)} waits a {found.unit}"


def _short(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _side(side: Side) -> results.Side:
    return results.Side(
        waits=round(side.total.waits, 3),
        stall_ms=ms(side.total.stall_ns),
        ms=ms(side.step_ns),
        steps=side.steps,
    )


def _change(found: SiteChange) -> results.Change:
    return results.Change(
        place=place_of(found.site.path, found.site.line),
        api=found.site.api,
        source=found.site.source,
        state=found.state,
        waits_before=round(found.before.waits, 3),
        waits_after=round(found.after.waits, 3),
        stall_ms_before=ms(found.before.stall_ns),
        stall_ms_after=ms(found.after.stall_ns),
        unit=found.unit,
    )


def comparison(
    name: str,
    found: Difference,
    printed: outputs.Comparison | None,
    statuses: tuple[int | None, int | None],
    sound: bool,
) -> results.Comparison:
    """Hold a run against the one before it that has the name; `sound`: no wait can be missing."""
    before, after = found.before, found.after
    fewer = sound and after.total.waits < before.total.waits
    return results.Comparison(
        before=name,
        unit="step" if found.unit == "step" else "run",
        waits_before=round(before.total.waits, 3),
        waits_after=round(after.total.waits, 3),
        ms_before=ms(before.step_ns),
        ms_after=ms(after.step_ns),
        outputs=_alike(printed),
        largest_difference=printed.difference if printed and printed.equal else None,
        lines_missing=printed.fewer if printed else 0,
        lines_unstable=printed.unstable if printed else 0,
        first_difference=[*printed.first] if printed and printed.first else None,
        exit_statuses=[*statuses],
        better=fewer and statuses == (0, 0) and _alike(printed) == "equal",
    )


def _alike(
    printed: outputs.Comparison | None,
) -> Literal["equal", "fewer lines", "different", "unknown"]:
    if printed is None:
        return "unknown"
    if printed.equal:
        return "equal"
    return "fewer lines" if printed.fewer else "different"


def compared(found: Difference, told: results.Comparison) -> str:
    """Say what a loop is to make better: the waits, and whether the program still does the same."""
    said = {
        "equal": "outputs equal",
        "fewer lines": f"outputs equal but for {count(told.lines_missing, 'line')} no longer "
        "printed",
        "different": "outputs differ",
        "unknown": "outputs not compared: what the run before printed is not kept",
    }[told.outputs]
    if told.first_difference and told.outputs == "different":
        old, new = told.first_difference
        said += f": {old!r} became {new!r}"
        if not told.lines_unstable:
            said += " (if it differs from run to run, record the run before with `repeat`)"
    before, after = told.exit_statuses
    ends = f", exit status {before} -> {after}" if before != after else ""
    return f"{change(found)}, {said}{ends}"


def grown(found: GrownSite, advice: Mapping[str, str]) -> results.Grown:
    """Return a site that waits more often than the baseline allows."""
    return results.Grown(
        place=place_of(found.site.path, found.site.line),
        api=found.site.api,
        source=found.site.source,
        before=None if found.before is None else _often(found.before),
        now=_often(found.now),
        remedy=advice.get(found.site.api, ""),
    )


def _often(found: Rate) -> float:
    return round(found.per_step, 3) if found.steps else float(found.count)


def output_of(data: bytes, most: int) -> results.Output:
    """Return what a program wrote, cut in the middle to about `most` characters."""
    text = data.decode("utf-8", "replace")
    if len(text) <= most:
        return results.Output(text=text, characters=len(text), cut=0)
    head = most // 3
    tail = most - head
    cut = len(text) - most
    ends = text[:head], text[len(text) - tail :]
    shown = f"{ends[0]}\n[... {cut:,} characters left out ...]\n{ends[1]}"
    return results.Output(text=shown, characters=len(text), cut=cut)


def run(name: str, done: Ended, told: Mapping[str, Any], most: int, timeout: float) -> results.Run:
    """Return how a program ran, with at most `most` characters of each stream."""
    ended: Literal["finished", "failed", "timed out", "wrote too much"]
    verdict = told["verdict"]
    if done.too_late:
        ended = "timed out"
        verdict = f"stopped after {timeout:g} s: shorten the run or raise `timeout`; {verdict}"
    elif done.too_much:
        ended = "wrote too much"
        verdict = f"stopped: it wrote more than {MOST >> 20} MiB; have it print less"
    elif done.status:
        ended = "failed"
        verdict = f"failed with exit status {done.status}: see stderr; {verdict}"
    else:
        ended = "finished"
    return results.Run(
        verdict=verdict,
        name=name,
        ended=ended,
        exit_status=done.status,
        seconds=round(done.seconds, 2),
        stdout=output_of(done.stdout, most),
        stderr=output_of(done.stderr, most),
        report=told["report"],
        comparison=told["comparison"],
    )
