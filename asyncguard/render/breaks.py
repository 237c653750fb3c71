"""The graph breaks of torch.compile in a trace, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from asyncguard.model import TraceRecord
from asyncguard.places import place_of
from asyncguard.render.words import count

BREAKS_SHOWN = 20
EFFECTS = {"split": "splits the graph", "uncompiled": "leaves the function uncompiled"}


def breaks_of(record: TraceRecord) -> list[Mapping[str, Any]]:
    """The breaks, those that were found most often during the trace first."""
    found = record.extra.get("graph_breaks", ())
    return sorted(found, key=lambda each: (-each["count"], -each["before"]))


def break_totals(record: TraceRecord) -> Iterator[str]:
    """At how many places graphs broke; nothing where none did."""
    found = breaks_of(record)
    if not found:
        return
    during, before = (sum(each[name] for each in found) for name in ("count", "before"))
    when = [f"{during:,} found during the trace"] * bool(during)
    when += [f"{before:,} before it"] * bool(before)
    yield (
        f"{count(during + before, 'graph break')} of torch.compile at"
        f" {count(len(found), 'place')} ({', '.join(when)}; counted once a compilation)"
    )


def break_lines(record: TraceRecord, most: int = BREAKS_SHOWN) -> Iterator[tuple[str, str, str]]:
    """Yield for each place how often, where and its line, and why."""
    found = breaks_of(record)
    for each in found[:most]:
        inside = f" in {each['function']}" if each["function"] else ""
        where = place_of(each["path"] or "(place not known)", each["line"]) + inside
        reason = f"{EFFECTS[each['effect']]}: {each['reason']}"
        yield f"{each['count'] or each['before']:,} x {where}", each["source"], reason
    if len(found) > most:
        yield f"... and {len(found) - most:,} more places (--format json)", "", ""
