"""What an editor shows where the pointer rests: a finding, or a site of a trace, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from asyncguard.lint.labels import Label
from asyncguard.lint.source.fixes import preview
from asyncguard.model import Finding, SiteStats, TraceRecord
from asyncguard.render import Screen
from asyncguard.render.lines import painter
from asyncguard.render.reasons import reason_lines
from asyncguard.render.visible import visible
from asyncguard.render.words import count, duration

STAND_IN = "stand-in"


def texts(found: Iterable[tuple[Finding, Label]], source: str = "") -> list[str]:
    """Say of each finding what it is, and of each rule once what it is about.

    `source`: the text that they were found in, for previews of their repairs; "" for none.
    """
    pairs = list(found)
    rules = {rule.code: rule for _, rule in pairs}
    return [*(_finding(*pair, source) for pair in pairs), *map(_about, rules.values())]


def _about(rule: Label) -> str:
    """Return a rule's first paragraph, and where there is more."""
    first = " ".join(rule.explanation.partition("\n\n")[2].partition("\n\n")[0].split())
    return f"---\n\n{rule.code}: {first or rule.summary} More: `asyncguard explain {rule.code}`"


def _finding(found: Finding, rule: Label, source: str) -> str:
    """Say what was found, why it is believed, what to do, and what a repair would change."""
    blocks = [f"**{rule.code} {rule.name}**", visible(found.message)]
    if found.advice:
        blocks.append(f"*{visible(found.advice)}*")
    told = [*reason_lines(found, painter(Screen()), indent=""), *_callers(found)]
    if told:
        blocks.append("\n".join(f"- {line}" for line in told))
    if source and (change := preview(found, source)):
        blocks.append("\n".join(["```diff", *change, "```"]))
    return "\n\n".join(blocks)


def measured(site: SiteStats, record: TraceRecord) -> str:
    """Say how often a place of the last trace waited, and for how long where that was known."""
    rate = record.per_step(site.count, site.steady_count)
    per_step = f", {rate:.2f} per step" if rate is not None else ""
    waited = f"{count(site.count, 'wait')}{per_step}"
    if STAND_IN in site.device:
        return f"**Traced** `{site.api}`: {waited} (CPU tensors were counted; times mean nothing)"
    word = "Modelled" if "simulated" in record.extra else "Measured"
    each = duration(site.cpu_stall_ns / max(site.count, 1))
    total = duration(site.cpu_stall_ns)
    return f"**{word}** `{site.api}`: {waited}, {total} in all, {each} each ({site.device})"


def _callers(found: Finding) -> list[str]:
    return [
        visible(f"reached from {call.path}:{call.line}")
        + (f" in {visible(call.function)}" if call.function else "")
        for call in found.reached_from
    ]
