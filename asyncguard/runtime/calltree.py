"""Call paths on disk: branches of one tree, whose nodes are a caller's number and a frame's.

`frames` has each frame once, as "path:line function"; a node of `tree` is `[parent, frame]`, with
-1 where nobody called. Traces of versions 1 and 2 hold whole stacks, as texts or frame numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from asyncguard.runtime.trace_format import NO_NODE

Frames = tuple[str, ...]  # innermost first
MOST_FRAMES = 256  # of one call path


class CallTree:
    """The tree of the call paths of a trace that is being written."""

    def __init__(self) -> None:
        self._frames: dict[str, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        self._known: dict[Frames, int] = {}

    @property
    def frames(self) -> tuple[str, ...]:
        """Each frame once."""
        return tuple(self._frames)

    @property
    def nodes(self) -> tuple[tuple[int, int], ...]:
        """Each node as the numbers of its parent and its frame; parents come first."""
        return tuple(self._nodes)

    def frame(self, entry: str) -> int:
        """Return the number of a frame."""
        return self._frames.setdefault(entry, len(self._frames))

    def node(self, path: Frames) -> int:
        """Return the number of the node that a call path ends at."""
        found = self._known.get(path)
        if found is None:
            found = NO_NODE
            for entry in reversed(path):
                found = self._nodes.setdefault((found, self.frame(entry)), len(self._nodes))
            self._known[path] = found
        return found


class Paths:
    """The call paths of a trace that is being read. Raises ValueError for a number out of range."""

    def __init__(self, frames: Sequence[str], tree: Iterable[tuple[int, int]]) -> None:
        self._frames = frames
        self._nodes: list[Frames] = []
        for parent, frame in tree:
            above = self._node(parent)
            if len(above) >= MOST_FRAMES:
                raise ValueError(f"a call path has more than {MOST_FRAMES} frames")
            self._nodes.append((self.frame(frame), *above))

    def of(self, stored: Any, own: str = "") -> dict[str, Frames]:
        """Return the callers and the library's frames of a stored site or path.

        `own` is the frame of the site itself, which the stacks of old versions begin with.
        """
        stack = tuple(map(self.frame, getattr(stored, "stack", ())))
        if stack:
            return {"callers": stack[1:] if stack[0] == own else stack}
        library = tuple(map(self.frame, stored.library))
        return {"callers": self._node(stored.callers), "library": library}

    def frame(self, entry: int | str) -> str:
        """Return a frame by its number; version 1 has its text."""
        if isinstance(entry, str):
            return entry
        if entry >= len(self._frames):
            raise ValueError(f"a frame is {entry}, of {len(self._frames)}")
        return self._frames[entry]

    def _node(self, number: int) -> Frames:
        if number == NO_NODE:
            return ()
        if number >= len(self._nodes):
            raise ValueError(f"a node of the call tree is {number}, of {len(self._nodes)}")
        return self._nodes[number]
