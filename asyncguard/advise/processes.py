"""Which process of a followed run a trace is of, as its record says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Process(NamedTuple):
    """One process, its parent, and how it came about: forked, started, or first ("")."""

    pid: int
    parent: int
    name: str
    how: str

    def __str__(self) -> str:
        how = f", {self.how} by {self.parent}" if self.how else ""
        return f"{self.pid} {self.name}{how}"


def process_of(identity: Mapping[str, Any]) -> Process | None:
    """Which process of a family a trace is of; None where it does not say so."""
    told = identity.get("process")
    return Process(**told) if told is not None and "family" in identity else None


def began(identity: Mapping[str, Any]) -> int:
    """When it began to be traced, in ns of Unix's clock; 0 where that is not known."""
    known: int = identity.get("started_ns", 0)
    return known
