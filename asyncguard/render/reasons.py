"""Why findings are there, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asyncguard.model import Finding, FindingReason
from asyncguard.render import Screen
from asyncguard.render.lines import Paint, finding_lines, painter
from asyncguard.render.visible import visible

_HEADS = {"value": "device:", "doubt": "but:", "place": "hot:"}


def reason_lines(finding: Finding, paint: Paint, indent: str = "    ") -> Iterator[str]:
    """Yield a line for each reason: what it is about, the reason, and where it was seen."""
    for why in finding.reasons:
        head = _HEADS.get(why.about, f"{why.about}:")
        yield f"{indent}{paint(head, 'magenta')} {visible(why.text)}{_where(why, finding)}"


def _where(why: FindingReason, finding: Finding) -> str:
    cell = f"cell {why.cell}:" if why.cell else ""
    file = "line " if why.path == finding.path and not cell else f"{why.path}:"
    seen = f"{visible(file)}{cell}{why.line}" if why.line else ""
    notes = [part for part in (seen, why.family and f"names: {why.family}") if part]
    return f" ({'; '.join(notes)})" if notes else ""


def explained(found: Sequence[tuple[Finding, str]], none: str, screen: Screen) -> str:
    """Show findings with their reasons, and why a check does not report them, if it does not.

    `none` is what to say where there is no finding.
    """
    paint = painter(screen)
    lines: list[str] = [] if found else [visible(none)]
    for finding, hidden in found:
        lines += finding_lines(finding, screen, paint)
        lines += reason_lines(finding, paint)
        lines += [f"    {paint('hidden:', 'magenta')} {hidden}"] if hidden else []
    return "".join(f"{line}\n" for line in lines)
