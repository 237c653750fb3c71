"""The flame graph of the HTML page: call paths, outermost frame on top, as wide as they waited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asyncguard.model import TraceRecord
from asyncguard.render.stacks import Node, Weight, tree, weight
from asyncguard.render.words import count

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
    """The boxes, callers before what they called, the unit of widths, how many are hidden."""

    boxes: tuple[Box, ...]
    unit: str
    hidden: int = 0

    def widest(self, most: int) -> Flame:
        """The graph with so many boxes; a caller is never narrower than what it called."""
        order = sorted(self.boxes, key=lambda box: (-box.width, box.depth))
        kept = set(map(id, order[:most]))
        boxes = tuple(box for box in self.boxes if id(box) in kept)
        return Flame(boxes, self.unit, len(self.boxes) - len(boxes))


def flame(record: TraceRecord) -> Flame | None:
    """The flame graph; None where nothing waited."""
    root = tree(record)
    if not root.width:
        return None
    by = weight(record)
    return Flame(tuple(_boxes(root, 0, 0, root.width, by)), by.unit)


def _boxes(node: Node, start: int, depth: int, whole: int, by: Weight) -> Iterator[Box]:
    if node.width < NARROWEST * whole:
        return
    share = node.width / whole
    waits = f", {count(node.count, 'wait')}" if by.unit == "nanoseconds" else ""
    label = f"{node.frame}: {by.said(node.width)}, {share:.1%}{waits}"
    colour = sum(node.frame.file.encode("utf-8", "replace")) % COLOURS
    name = node.frame.function
    yield Box(name, label, 100 * start / whole, 100 * share, depth, colour)
    for child in sorted(node.children.values(), key=lambda each: -each.width):
        yield from _boxes(child, start, depth + 1, whole, by)
        start += child.width
