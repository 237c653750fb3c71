"""Pictures of the documentation as SVG, from committed results: bars of times, and timelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH = 720
ROW = 30
COLORS = ("#3f51b5", "#00897b", "#f4511e", "#6d4c41")
STYLE = 'font-family="sans-serif"'


def bars(title: str, seconds: Mapping[str, float]) -> str:
    """Return one bar for each time, in seconds, the longest as wide as the picture allows."""
    longest = max(seconds.values())
    body = []
    for row, (label, value) in enumerate(seconds.items()):
        y = 40 + row * ROW
        width = max(1.0, value / longest * (WIDTH - 380))
        body.append(f'<text x="265" y="{y + 15}" text-anchor="end" {STYLE}>{escape(label)}</text>')
        color = COLORS[row % len(COLORS)]
        body.append(f'<rect x="275" y="{y}" width="{width:.1f}" height="20" fill="{color}"/>')
        body.append(f'<text x="{285 + width:.1f}" y="{y + 15}" {STYLE}>{_time(value)}</text>')
    return _page(title, 50 + len(seconds) * ROW, body)


def timelines(title: str, runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return runs below each other on one scale: what Python did, and below it the worker.

    Events are those of `asyncguard.engine.pictures.timeline`, in microseconds.
    """
    longest = max(event["ts"] + event["dur"] for events in runs.values() for event in events)
    scale = (WIDTH - 130) / longest
    body: list[str] = []
    for number, (label, events) in enumerate(runs.items()):
        top = 40 + number * 100
        end = max(event["ts"] + event["dur"] for event in events)
        shown = f"{label}: {_time(end / 1e6)}"
        body.append(f'<text x="10" y="{top + 5}" {STYLE} font-weight="bold">{escape(shown)}</text>')
        for lane, name in ((1, "Python"), (2, "worker")):
            y = top - 10 + lane * 28
            body.append(f'<text x="10" y="{y + 15}" {STYLE}>{name}</text>')
            body += [_event(event, y, scale) for event in events if event["tid"] == lane]
    return _page(title, 40 + len(runs) * 100, body)


def _event(event: Mapping[str, Any], y: float, scale: float) -> str:
    name = event["name"]
    color = "#00897b" if event["tid"] == 2 else "#f4511e" if "wait" in name else "#3f51b5"
    x, width = 80 + event["ts"] * scale, max(1.2, event["dur"] * scale)
    return (
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" fill="{color}" stroke="white" '
        f'stroke-width="0.4"><title>{escape(name)}: {_time(event["dur"] / 1e6)}</title></rect>'
    )


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _page(title: str, height: int, body: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-size="13" role="img"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    )
    bold = f'{STYLE} font-weight="bold" font-size="15"'
    caption = f'<text x="10" y="22" {bold}>{escape(title)}</text>'
    return "\n".join([head, caption, *body, "</svg>", ""])
