"""Whether traces can be compared: what was measured on a device only with what was, too."""

from __future__ import annotations

from asyncguard.model import STAND_IN, AsyncguardError, TraceRecord

WORDS = {
    "measured": "measured on a device",
    "modelled": "modelled by a simulated device",
    "stand-in": "of a CPU that stands in for a device",
}


def of(record: TraceRecord) -> str:
    """How the figures of a trace came about; "" where an old trace does not tell."""
    if record.basis:
        return record.basis
    if "simulated" in record.extra:
        return "modelled"
    if any(site.device == STAND_IN for site in record.sites):
        return "stand-in"
    return "measured" if record.sites else ""


def require_same(name: str, one: str, other_name: str, other: str, remedy: str) -> None:
    """Raise AsyncguardError where the figures of two traces came about in different ways."""
    if one and other and one != other:
        raise AsyncguardError(
            f"{name}: its figures are {WORDS.get(one, one)}, and those of {other_name} "
            f"{WORDS.get(other, other)}: they cannot be compared; {remedy}"
        )
