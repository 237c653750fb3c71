"""Reports of records: the advice and the suggestions that belong to a trace, in any format."""

from __future__ import annotations

from collections.abc import Sequence

from asyncguard import catalogue, render
from asyncguard.advise import hints, libraries, ranks, suggest
from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.render import Screen, TraceReport


def of(record: TraceRecord, title: str = "") -> TraceReport:
    """Return one traced run with what to do about it."""
    points = list(catalogue.load())
    return TraceReport(
        record,
        suggest(record),
        {point.id: point.advice for point in points},
        {point.id: point.url for point in points},
        title,
        hints(record),
        libraries.advice(record),
    )


def text(records: Sequence[tuple[str, TraceRecord]], name: str, screen: Screen) -> str:
    """Return a report in format `name` of each titled record, or one for all ranks of a run.

    Raises AsyncguardError where the format cannot show them.
    """
    every = [record for _, record in records]
    if ranks.is_ranked(every):
        whole: str = render.find(name, "ranks")(ranks.merge(every), screen)
        return whole
    show = render.find(name, "traces")
    return "\n".join(
        _one(show, of(record, title if len(records) > 1 else ""), title, screen)
        for title, record in records
    )


def _one(show: render.Format, report: TraceReport, title: str, screen: Screen) -> str:
    try:
        return show(report, screen)
    except AsyncguardError as error:
        raise AsyncguardError(f"{title}: {error}" if title else str(error)) from error
