"""Folded stacks, a line for each call path, as flame graph tools read them.

Frames are joined by semicolons, outermost first; the number behind them is nanoseconds blocked, or
waits where the CPU stood in for a device.
"""

from __future__ import annotations

from collections import Counter

from asyncguard.render import Screen, TraceReport
from asyncguard.render.stacks import Frame, stacks, weight


def traces(report: TraceReport, screen: Screen) -> str:
    """Return the lines, those with the largest number first."""
    by = weight(report.record)
    folded: Counter[str] = Counter()
    if report.record.troubles:  # the format knows no comments: a stack of their own, on top
        folded[_plain(" ".join(report.record.troubles))] = 0
    for frames, path in stacks(report.record):
        folded[";".join(map(_name, frames))] += by.of(path)
    ordered = sorted(folded.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{stack} {number}\n" for stack, number in ordered)


def _name(frame: Frame) -> str:
    name = f"{frame.function} ({frame.place})" if frame.line else frame.function
    return _plain(name)


def _plain(text: str) -> str:
    return " ".join(text.replace(";", ",").split())
