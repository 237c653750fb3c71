"""A run while it is under way, in a few rows: how often and how long it waits, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from asyncguard.model import SiteStats
from asyncguard.places import place_of
from asyncguard.render import Screen
from asyncguard.render.lines import painter
from asyncguard.render.summary import is_timed
from asyncguard.render.visible import visible
from asyncguard.render.words import count, duration

if TYPE_CHECKING:
    from asyncguard.runtime.figures import Progress


def rows(progress: Progress, rate: float | None, columns: int, most: int, color: bool) -> list[str]:
    """Return at most so many rows, each narrower than the terminal.

    rate: steps a second; None: not known yet. Made a few times a second beside a program that is
    timed, so without rich's tables, which take thirty times as long.
    """
    paint = painter(Screen(columns, color))
    width = columns - 1
    head = paint(set_cell_size(f" {_head(progress, rate)}", width), "reverse")
    table = [_cells(progress, site) for site in progress.sites[: most - 1]]
    return [head, *_lines(table, width)]


def _lines(table: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield the rows of a table: figures to the right, texts to the left, cut where it ends."""
    widths = [min(max(map(cell_len, column)), width // 2) for column in zip(*table, strict=True)]
    for often, time, *texts in table:
        cells = [often.rjust(widths[0]), time.rjust(widths[1])]
        cells += map(set_cell_size, texts, widths[2:])
        yield set_cell_size("  ".join(cells).rstrip(), width).rstrip()


def _head(progress: Progress, rate: float | None) -> str:
    figures = progress.figures
    parts = [f"asyncguard: {count(figures.total_syncs, 'wait')}"]
    if (often := figures.syncs_per_step) is not None:
        parts = [f"asyncguard: {often:,.2f} waits a step"]
    if not progress.sites or any(map(is_timed, progress.sites)):
        share = figures.cpu_stall_ns / progress.duration_ns if progress.duration_ns else 0
        parts.append(f"stall {duration(figures.cpu_stall_ns)} ({share:.0%})")
    if figures.step_count:
        parts.append(count(figures.step_count, "step"))
    if rate is not None:
        parts.append(f"{rate:,.3g} steps/s" if rate < 1000 else f"{rate:,.0f} steps/s")
    if progress.modelled:
        parts.append("times are modelled")
    return ", ".join(parts)


def _cells(progress: Progress, site: SiteStats) -> tuple[str, ...]:
    """Return how often a site waits, how long, where, and the source."""
    steps = progress.figures.steady_steps
    often, stall = f"{site.count:,}", site.cpu_stall_ns
    if site.steady_count and steps:
        often = f"{site.steady_count / steps:,.2f} a step"
        stall = site.steady_stall_ns // steps
    where = f"{place_of(site.path, site.line)} {site.function}"
    texts = (visible(" ".join(text.split())) for text in (where, site.source))
    return often, duration(stall) if is_timed(site) else "", *texts
