"""Call paths as reports show them: a line for each, or all of them as one tree of frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from asyncguard.advise.libraries import short
from asyncguard.model import STAND_IN, CallPath, SiteStats, TraceRecord
from asyncguard.places import place_of
from asyncguard.render.words import duration

CALLERS_SHOWN = 3  # of one call path
PATHS_SHOWN = 5  # of one site


class Frame(NamedTuple):
    """One frame of a call path; `line` is 0 where the entry names no place."""

    function: str
    path: str
    line: int

    @property
    def file(self) -> str:
        """Its file; an installed package's without the folder of the environment."""
        return short(self.path)

    @property
    def place(self) -> str:
        """Where it is."""
        return place_of(self.file, self.line) if self.line else ""

    def __str__(self) -> str:
        return f"{self.place} in {self.function}" if self.line else self.function


class Weight(NamedTuple):
    """What widths are: nanoseconds of call paths, or their waits where times mean nothing."""

    unit: str  # "nanoseconds" or "waits"

    def of(self, path: CallPath) -> int:
        """The width of one call path."""
        return path.cpu_stall_ns if self.unit == "nanoseconds" else path.count

    def said(self, width: int) -> str:
        """A width in words."""
        return duration(width) if self.unit == "nanoseconds" else f"{width:,} waits"


@dataclass
class Node:
    """A frame of the tree with all that waited below it."""

    frame: Frame
    width: int = 0
    count: int = 0
    children: dict[Frame, Node] = field(default_factory=dict)

    def add(self, path: CallPath, width: int) -> None:
        """Count a call path in."""
        self.width += width
        self.count += path.count

    def child(self, frame: Frame) -> Node:
        """The node of a frame that this one called."""
        return self.children.setdefault(frame, Node(frame))


def frame(entry: str) -> Frame:
    """A frame from its entry, "path:line function"."""
    place, _, function = entry.rpartition(" ")
    path, _, line = place.rpartition(":")
    return Frame(function, path, int(line)) if line.isdecimal() else Frame(entry, "", 0)


def stacks(record: TraceRecord) -> Iterator[tuple[tuple[Frame, ...], CallPath]]:
    """Every call path, outermost frame first, down to the API that waited."""
    for site in record.sites:
        own = Frame(site.function or "<module>", site.path, site.line)
        api = Frame(site.api, "", 0)
        for path in site.call_paths:
            above = tuple(frame(entry) for entry in reversed(path.callers))
            below = tuple(frame(entry) for entry in reversed(path.library))
            yield (*above, own, *below, api), path


def weight(record: TraceRecord) -> Weight:
    """Nanoseconds; waits where the times mean nothing, or are all zero."""
    timed = any(site.device != STAND_IN and site.cpu_stall_ns for site in record.sites)
    return Weight("nanoseconds" if timed else "waits")


def tree(record: TraceRecord) -> Node:
    """All call paths as one tree, under a root that stands for the program."""
    by = weight(record)
    root = Node(Frame(record.command or "the program", "", 0))
    for frames, path in stacks(record):
        node = root
        node.add(path, by.of(path))
        for each in frames:
            node = node.child(each)
            node.add(path, by.of(path))
    return root


def library_place(site: SiteStats) -> str:
    """Where in a library the wait is; "" where it is the line itself that waits."""
    return str(frame(site.library[0])) if site.library else ""


def called_from(site: SiteStats) -> list[str]:
    """Who called the site's function: a line for each caller, with its waits if there are several.

    Call paths that differ only above or below what a line shows are one.
    """
    waits: Counter[str] = Counter()
    for path in site.paths:
        waits[chain(path.callers)] += path.count
    if len(waits) < 2:
        callers = site.paths[0].callers if site.paths else site.callers
        return [chain(callers)] if callers else []
    most = waits.most_common()
    shown = [f"{number:,} x {caller}" for caller, number in most[:PATHS_SHOWN]]
    rest = most[PATHS_SHOWN:]
    if rest:
        shown.append(f"{sum(number for _, number in rest):,} x {len(rest)} more callers")
    return shown


def chain(callers: tuple[str, ...]) -> str:
    """The nearest callers on one line."""
    shown = " <- ".join(str(frame(entry)) for entry in callers[:CALLERS_SHOWN])
    return f"{shown or 'the program itself'}{' <- ...' if callers[CALLERS_SHOWN:] else ''}"
