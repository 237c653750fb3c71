"""Hints: what usage says about a path such as `self.model`.

A variable that `.backward()` is called on is a device value, one whose `.parameters()` are taken is
a model. The interpreter reads hints where its own knowledge ends.
"""

from __future__ import annotations

Hints = dict[str, tuple[str, str]]  # dotted path -> (kind, framework)


def note_hint(hints: Hints, path: str, hint: tuple[str, str]) -> None:
    """Note what usage tells of a path: a model has most methods that only arrays have otherwise."""
    if hints.get(path, hint)[0] == hint[0] or hint[0] != "device":
        hints[path] = hint


def tells_owner(method: str, given: bool) -> bool:
    """Whether a call of a method tells what it is called on: `trainer.backward(loss)` does not."""
    return method != "backward" or not given
