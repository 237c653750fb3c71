"""The sites of a trace as rows: a table of text, or columns for a data frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from asyncguard.model import AsyncguardError, SiteStats, TraceRecord
from asyncguard.places import place_of
from asyncguard.render.summary import is_timed
from asyncguard.render.visible import shown
from asyncguard.render.words import duration

SortBy = Literal["cpu_stall", "gpu_stall", "max_stall", "count", "per_step", "place"]

_Key = Callable[[TraceRecord, SiteStats], Any]
_KEYS: dict[SortBy, _Key] = {
    "cpu_stall": lambda record, site: -site.cpu_stall_ns,
    "gpu_stall": lambda record, site: -(site.gpu_stall_ns or 0),
    "max_stall": lambda record, site: -site.max_stall_ns,
    "count": lambda record, site: -site.count,
    "per_step": lambda record, site: -(per_step(record, site) or 0.0),
    "place": lambda record, site: (site.path, site.line),
}
_NUMBERS = "waits", "a step", "Python waited", "longest", "GPU idle"


def per_step(record: TraceRecord, site: SiteStats) -> float | None:
    """Return the waits a step, warm-up left out; None where no step was marked."""
    return record.per_step(site.count, site.steady_count)


def in_order(record: TraceRecord, sort_by: SortBy) -> list[SiteStats]:
    """Return the sites, the largest figure first. Raises AsyncguardError for an unknown key."""
    if sort_by not in _KEYS:
        raise AsyncguardError(f"sort_by must be one of {', '.join(_KEYS)}, not {sort_by!r}")
    return sorted(record.sites, key=lambda site: _KEYS[sort_by](record, site))


def table(record: TraceRecord, sort_by: SortBy, limit: int | None, width: int) -> str:
    """Return one line for each of the first `limit` sites, in `width` columns (at least 80)."""
    sites = in_order(record, sort_by)
    made = Table(box=None, pad_edge=False, header_style="bold")
    made.add_column("place", overflow="fold")
    made.add_column("api", overflow="fold")
    for name in _NUMBERS:
        made.add_column(name, justify="right", no_wrap=True)
    for site in sites[:limit]:
        made.add_row(*map(Text, _row(record, site)))
    console = Console(
        width=max(width, 80), color_system=None, force_terminal=False, legacy_windows=False
    )
    with console.capture() as captured:
        console.print(made)
        if limit is not None and len(sites) > limit:
            console.print(f"and {len(sites) - limit:,} more")
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


def _row(record: TraceRecord, site: SiteStats) -> tuple[str, ...]:
    rate, timed = per_step(record, site), is_timed(site)
    idle = site.gpu_stall_ns
    return (
        shown(f"{place_of(site.path, site.line)} {site.function}"),
        site.api,
        f"{site.count:,}",
        "" if rate is None else f"{rate:,.2f}",
        duration(site.cpu_stall_ns) if timed else "",
        duration(site.max_stall_ns) if timed else "",
        "" if idle is None else duration(idle),
    )


_FIELDS = (
    "path", "line", "function", "api", "framework", "kind", "device", "thread", "count",
    "steady_count", "cpu_stall_ns", "steady_stall_ns", "max_stall_ns", "gpu_stall_ns", "first_step",
    "last_step", "allowed", "why", "source",
)  # fmt: skip


def columns(record: TraceRecord, sites: Sequence[SiteStats]) -> dict[str, list[Any]]:
    """Return the fields of the sites as columns, and `per_step`; times are nanoseconds."""
    found = {name: [getattr(site, name) for site in sites] for name in _FIELDS}
    found["kind"] = [site.kind.value for site in sites]
    return {**found, "per_step": [per_step(record, site) for site in sites]}
