"""Times, counts and savings in words, as all formats say them."""

from __future__ import annotations

from asyncguard.model import Suggestion


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
    return f"saves about {duration(item.saving_ns_per_step)} ({between})"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
