"""speedscope: call paths as sampled profiles, one of the time blocked and one of the waits.

The first one is left out where the CPU stood in for a device: its times mean nothing.
"""

from __future__ import annotations

import json
from typing import Any

from asyncguard.advise.libraries import short
from asyncguard.render import Screen, TraceReport
from asyncguard.render.stacks import Frame, Weight, stacks, weight
from asyncguard.render.visible import in_json
from asyncguard.version import __version__

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
UNITS = {"nanoseconds": "nanoseconds", "waits": "none"}

ESCAPES = True  # control characters, as JSON writes them


def traces(report: TraceReport, screen: Screen) -> str:
    """Return the JSON text of the profiles."""
    record = report.record
    title = " - ".join((report.title or record.command or "asyncguard trace", *record.troubles))
    found = list(stacks(record))
    numbers: dict[Frame, int] = {}
    samples = [[numbers.setdefault(f, len(numbers)) for f in frames] for frames, _ in found]
    timed = weight(record).unit == "nanoseconds"
    profiles = []
    for by in (Weight("nanoseconds"), Weight("waits")) if timed else (Weight("waits"),):
        weights = [by.of(path) for _, path in found]
        name = "time blocked" if by.unit == "nanoseconds" else "waits"
        profiles.append(
            {
                "type": "sampled",
                "name": f"{title}: {name}",
                "unit": UNITS[by.unit],
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    data = {
        "$schema": SCHEMA,
        "name": title,
        "exporter": f"asyncguard {__version__}",
        "activeProfileIndex": 0,
        "shared": {"frames": [_frame(frame) for frame in numbers]},
        "profiles": profiles,
    }
    return in_json(json.dumps(data)) + "\n"


def _frame(frame: Frame) -> dict[str, Any]:
    if not frame.line:
        return {"name": frame.function}
    return {"name": frame.function, "file": short(frame.path), "line": frame.line}
