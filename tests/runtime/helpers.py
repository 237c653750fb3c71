"""What the runtime's tests share: a clock that is wound by hand, and rows that read well."""

from __future__ import annotations

from collections import Counter
from typing import Any

from asyncguard.model import TraceRecord


class Clock:
    """Nanoseconds that pass only when told to; `tick` of them at each look."""

    def __init__(self, tick: int = 0) -> None:
        self.now = 0
        self.tick = tick

    def __call__(self) -> int:
        self.now += self.tick
        return self.now


def counts(record: TraceRecord) -> dict[str, int]:
    """API -> how often it waited."""
    total: Counter[str] = Counter()
    for site in record.sites:
        total[site.api] += site.count
    return dict(total)


def attributes(owner: Any) -> dict[str, Any]:
    """The very objects that an owner's namespace holds."""
    return dict(vars(owner))


def changed(owner: Any, before: dict[str, Any]) -> list[str]:
    """The names whose objects are not those of `before`."""
    now = vars(owner)
    return [n for n in {*now, *before} if now.get(n, Ellipsis) is not before.get(n, Ellipsis)]
