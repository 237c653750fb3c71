"""Text for a terminal or a log: places first, then what to do about them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from asyncguard.model import Finding, Fix, Suggestion
from asyncguard.render import FindingsReport, Screen, TraceReport
from asyncguard.render.visible import visible

if TYPE_CHECKING:
    from asyncguard.advise.ranks import RankReport
    from asyncguard.gate.difference import Difference


def findings(report: FindingsReport, screen: Screen) -> str:
    """One block a finding, or counts by rule; then a summary.

    There may be thousands, on a log as often as on a terminal: rich, which takes longer to load and
    to lay them out than they took to find, is asked for colours alone.
    """
    paint = painter(screen)
    lines: list[str] = []
    if report.statistics:
        lines += _statistics(report)
    else:
        for finding in report.findings:
            lines += finding_lines(finding, screen, paint)
    lines += textwrap.wrap(_findings_summary(report, paint), screen.line_width)
    return "".join(f"{line}\n" for line in lines)


Paint = Callable[[str, str], str]  # a text, and how it should look


def painter(screen: Screen) -> Paint:
    """Return what gives a text the look that rich calls by such a name."""
    if not screen.color:
        return lambda text, style: text
    from rich.color import ColorSystem
    from rich.style import Style

    return lambda text, style: Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def finding_lines(finding: Finding, screen: Screen, paint: Paint) -> Iterator[str]:
    """Yield a finding's lines: its place and message, the source, the advice.

    A word longer than the line, such as a path, stays whole: other programs read it.
    """
    cell = f"cell {finding.cell}:" if finding.cell else ""
    place = f"{visible(finding.path)}:{cell}{finding.line}:{finding.column}:"
    start = f"{place} {finding.code}"
    width = screen.line_width
    first, *rest = _wrapped(f"{start} {visible(finding.message)}", width, "")
    yield first.replace(start, f"{paint(place, 'bold')} {paint(finding.code, 'red')}", 1)
    yield from rest
    if source := finding.source.strip():
        yield f"    {visible(source)}"
    if finding.advice:
        first, *rest = _wrapped(f"help: {visible(finding.advice)}", width, "    ")
        yield first.replace("help:", paint("help:", "cyan"), 1)
        yield from rest


@lru_cache(1024)
def _wrapped(text: str, width: int, indent: str) -> list[str]:
    """Break a text into lines; an advice is given for many findings."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def traces(report: TraceReport, screen: Screen) -> str:
    """The totals, the sites (what cost most first), the suggestions."""
    from asyncguard.render import page

    return page.traces(report, screen)


def ranks(report: RankReport, screen: Screen) -> str:
    """A table of the ranks, who was late, and the sites where the ranks differ most."""
    from asyncguard.render import page

    return page.ranks(report, screen)


def differences(found: Difference, screen: Screen) -> str:
    """Two traces side by side: the step first, then the sites that changed."""
    from asyncguard.render import page

    return page.side_by_side(found, screen)


def duration(nanoseconds: float) -> str:
    """Nanoseconds in the unit that a person reads: `1.23 ms`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:#.3g} {unit}".replace(". ", " ")
    return f"{nanoseconds:.0f} ns"


def saving(item: Suggestion) -> str:
    """What a suggestion saves: `about 1.23 ms (1.1 ms to 1.4 ms)`; nothing where unknown."""
    if not item.saving_ns_per_step:
        return ""
    if item.saving_low_ns is None or item.saving_high_ns is None:
        return f"at most {duration(item.saving_ns_per_step)}"
    between = f"{duration(item.saving_low_ns)} to {duration(item.saving_high_ns)}"
    instead = f", instead of {item.instead_of}" if item.instead_of else ""
    return f"saves about {duration(item.saving_ns_per_step)} ({between}){instead}"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _statistics(report: FindingsReport) -> Iterator[str]:
    from asyncguard.render.json_ import count_by_code

    counts = count_by_code(report)
    width = max((len(str(number)) for _, number in counts), default=0)
    for code, number in counts:
        yield f"{number:>{width}}  {code}  {report.rule_names.get(code, '')}".rstrip()


def _findings_summary(report: FindingsReport, paint: Paint) -> str:
    checked = count(report.files_checked, "file")
    if not report.findings:
        return f"{paint('No findings', 'green')} in {checked}."
    files = count(len({finding.path for finding in report.findings}), "file")
    text = f"Found {count(len(report.findings), 'finding')} in {files} ({checked} checked)."
    return text + _fixable([finding.fix for finding in report.findings if finding.fix is not None])


def _fixable(fixes: Sequence[Fix]) -> str:
    """Say which option repairs how many."""
    safe = sum(fix.safe for fix in fixes)
    unsafe = len(fixes) - safe
    if safe and unsafe:
        return f" {len(fixes)} fixable: {safe} with --fix, {unsafe} more with --fix --unsafe-fixes."
    if safe or unsafe:
        return f" {len(fixes)} fixable with --fix{'' if safe else ' --unsafe-fixes'}."
    return ""
