"""By how much the process grew: on Linux, from /proc; not known elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

STATUS = Path("/proc/self/status")


class Resident(NamedTuple):
    """Bytes of memory that the process occupies, and the most that it ever did."""

    now: int
    peak: int


def read(status: Path = STATUS) -> Resident | None:
    """Both as they are now."""
    try:
        lines = status.read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        now, peak = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    except (OSError, KeyError, ValueError):
        return None
    return Resident(now, peak)


def growth(before: Resident | None, after: Resident | None) -> int | None:
    """The most that was occupied in between beyond what was at its start; None if not known.

    The kernel keeps one peak for the life of the process: an older one hides what came after.
    """
    if before is None or after is None or after.peak <= before.peak:
        return None
    return after.peak - before.now
