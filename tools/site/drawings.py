"""Pictures of the documentation as SVG: bars of times, timelines, and stages one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

WIDTH = 720
ROW = 30
STAGE = 46
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


def stages(title: str, groups: Mapping[str, Sequence[tuple[str, str, str]]]) -> str:
    """Return stages below each other, in groups: what each is called, where it is, what it gives.

    What a stage gives is what the next one takes.
    """
    body: list[str] = []
    y = 40
    for number, (label, rows) in enumerate(groups.items()):
        height = len(rows) * STAGE + 4
        color = COLORS[number % len(COLORS)]
        body.append(
            f'<rect x="10" y="{y}" width="{WIDTH - 20}" height="{height}" rx="6" fill="{color}" '
            'fill-opacity="0.1"/>'
        )
        body += [
            f'<text x="20" y="{y + 25 + at * 17}" {STYLE} fill="{color}">{escape(line)}</text>'
            for at, line in enumerate(label.split("\n"))
        ]
        for at, row in enumerate(rows):
            body += _stage(*row, y + 4 + at * STAGE, color)
        y += height + 10
    return _page(title, y, body)


def _stage(name: str, place: str, gives: str, y: int, color: str) -> Iterator[str]:
    """Yield a box, what it gives beside it, and the arrow to the next one below."""
    yield f'<rect x="150" y="{y}" width="230" height="38" rx="4" fill="white" stroke="{color}"/>'
    yield f'<text x="160" y="{y + 16}" {STYLE} font-weight="bold">{escape(name)}</text>'
    plain = 'font-family="monospace" font-size="11"'
    yield f'<text x="160" y="{y + 31}" {plain}>{escape(place)}</text>'
    yield f'<path d="M265 {y + 38} v6 m-3 -3 l3 4 l3 -4" fill="none" stroke="{color}"/>'
    yield f'<text x="395" y="{y + 24}" {STYLE}>{escape(gives)}</text>'


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
