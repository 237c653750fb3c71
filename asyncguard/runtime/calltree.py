"""Call paths on disk: branches of one tree, whose nodes are a caller's number and a frame's.

`frames` has each frame once, as "path:line function"; a node of `tree` is `[parent, frame]`, with
-1 where nobody called. Traces of versions 1 and 2 hold whole stacks, as texts or frame numbers.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

Frames = tuple[str, ...]  # innermost first
NOBODY = -1
MOST_FRAMES = 256  # of one call path


class CallTree:
    """The tree of the call paths of a trace that is being written."""

    def __init__(self) -> None:
        self._frames: dict[str, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        self._known: dict[Frames, int] = {}

    @property
    def frames(self) -> list[str]:
        """Each frame once."""
        return list(self._frames)

    @property
    def nodes(self) -> list[tuple[int, int]]:
        """Each node as the numbers of its parent and its frame; parents come first."""
        return list(self._nodes)

    def frame(self, entry: str) -> int:
        """Return the number of a frame."""
        return self._frames.setdefault(entry, len(self._frames))

    def node(self, path: Frames) -> int:
        """Return the number of the node that a call path ends at."""
        found = self._known.get(path)
        if found is None:
            found = NOBODY
            for entry in reversed(path):
                found = self._nodes.setdefault((found, self.frame(entry)), len(self._nodes))
            self._known[path] = found
        return found


class Paths:
    """The call paths of a trace that is being read. Raises ValueError for what is none."""

    def __init__(self, frames: list[str], tree: Any) -> None:
        self._frames = frames
        self._nodes: list[Frames] = []
        if not isinstance(tree, list):
            raise ValueError(f"tree is {reprlib.repr(tree)}")
        for node in tree:
            self._nodes.append(self._grown(node))

    def of(self, data: Mapping[str, Any]) -> dict[str, Frames]:
        """The callers and the library's frames of a site, or of one of its call paths."""
        if "stack" in data:
            stack = self._listed(data["stack"], "stack")
            own = f"{data.get('path')}:{data.get('line')} {data.get('function')}"
            return {"callers": stack[1:] if stack[:1] == (own,) else stack}
        callers = data.get("callers", NOBODY)
        if type(callers) is not int or not NOBODY <= callers < len(self._nodes):
            raise ValueError(f"callers is {reprlib.repr(callers)}, of {len(self._nodes)}")
        return {
            "callers": () if callers == NOBODY else self._nodes[callers],
            "library": self._listed(data.get("library", []), "library"),
        }

    def _grown(self, node: Any) -> Frames:
        """A node's path: its own frame, and the path of its parent, which stands before it."""
        if not isinstance(node, list) or len(node) != 2 or type(node[0]) is not int:
            raise ValueError(f"a node of the tree is {reprlib.repr(node)}")
        parent, frame = node
        if not NOBODY <= parent < len(self._nodes):
            raise ValueError(f"the parent of a node is {parent}, of {len(self._nodes)}")
        above = () if parent == NOBODY else self._nodes[parent]
        if len(above) >= MOST_FRAMES:
            raise ValueError(f"a call path has more than {MOST_FRAMES} frames")
        return (self._frame(frame), *above)

    def _listed(self, entries: Any, name: str) -> Frames:
        if not isinstance(entries, list):
            raise ValueError(f"{name} is {reprlib.repr(entries)}")
        return tuple(self._frame(entry) for entry in entries)

    def _frame(self, entry: Any) -> str:
        """A frame by its number; version 1 has its text."""
        if isinstance(entry, str):
            return entry
        if type(entry) is not int or not 0 <= entry < len(self._frames):
            raise ValueError(f"a frame is {reprlib.repr(entry)}, of {len(self._frames)}")
        return self._frames[entry]
