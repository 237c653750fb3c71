"""The flame graph of the HTML page: call paths, outermost frame on top, as wide as they waited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asyncguard.model import TraceRecord
from asyncguard.render.stacks import Node, Weight, tree, weight

NARROWEST = 0.001  # of the whole; narrower boxes are left out
COLOURS = 6


@dataclass(frozen=True)
class Box:
    """One frame: its place in percent of the width, its row, and what it says."""

    name: str
    label: str
    left: float
    width: float
    depth: int
    colour: int  # one of COLOURS, the same for the same file


@dataclass(frozen=True)
class Flame:
    """The boxes, how many rows they take, and what their widths are."""

    boxes: tuple[Box, ...]
    depth: int
    unit: str


def flame(record: TraceRecord) -> Flame | None:
    """The flame graph; None where nothing waited."""
    root = tree(record)
    if not root.width:
        return None
    by = weight(record)
    boxes = tuple(_boxes(root, 0, 0, root.width, by))
    return Flame(boxes, max(box.depth for box in boxes) + 1, by.unit)


def _boxes(node: Node, start: int, depth: int, whole: int, by: Weight) -> Iterator[Box]:
    if node.width < NARROWEST * whole:
        return
    share = node.width / whole
    label = f"{node.frame}: {by.said(node.width)}, {share:.1%}, {node.count:,} waits"
    colour = sum(node.frame.path.encode("utf-8", "replace")) % COLOURS
    name = node.frame.function
    yield Box(name, label, 100 * start / whole, 100 * share, depth, colour)
    for child in sorted(node.children.values(), key=lambda each: -each.width):
        yield from _boxes(child, start, depth + 1, whole, by)
        start += child.width
