"""From what the interpreter believed to the reasons that a finding shows."""

from __future__ import annotations

from collections.abc import Iterator

from asyncguard.lint.domain.definitions import Site
from asyncguard.lint.domain.explained import DOUBT, DOUBTS, PLACE, VALUE, said
from asyncguard.model import FindingReason, SyncKind


def of_site(site: Site) -> tuple[FindingReason, ...]:
    """Return why a site's value is taken to be on the device, and why its place is hot."""
    return (*_of_value(site), *_of_place(site))


def _of_value(site: Site) -> Iterator[FindingReason]:
    if site.point.kind == SyncKind.BARRIER:
        yield FindingReason(VALUE, f"`{site.point.id}` always waits")
        return
    yield said(VALUE, site.why)
    for doubt, text in DOUBTS.items():
        if site.doubt & doubt:
            yield FindingReason(DOUBT, text)


def _of_place(site: Site) -> Iterator[FindingReason]:
    if site.hot is not None:
        yield said(PLACE, site.hot)
