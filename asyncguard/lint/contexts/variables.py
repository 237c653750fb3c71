"""The variables of a frame: what is known of each, and what a branch changes of it.

A branch is run in place. A `Fork` keeps a trail of what was overwritten, so that a branch costs as
much as it changes, however many variables there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.values import Value

Changes = Mapping[str, Value | None]  # by path; None where nothing is known any more
UNCHANGED: Changes = {}


class Variables(dict[str, Value]):
    """What is known of variables and attribute paths, by their dotted names.

    It is changed by `[...] = `, `discard` and `drop_below` alone, which leave a trail.
    """

    __slots__ = ("_below", "_forks", "_trail")

    def __init__(self) -> None:
        super().__init__()
        self._trail: list[tuple[str, Value | None]] = []  # what was overwritten, in order
        self._forks = 0
        self._below: dict[str, set[str]] = {}  # the known paths below each path

    def __setitem__(self, path: str, value: Value) -> None:
        if self._forks:
            self._trail.append((path, self.get(path)))
        self._put(path, value)

    def discard(self, path: str) -> None:
        """Forget a path, if anything is known of it."""
        known = self.get(path)
        if known is not None:
            if self._forks:
                self._trail.append((path, known))
            self._remove(path)

    def drop_below(self, path: str) -> None:
        """Forget what is known of the attributes of a path."""
        if path in self._below:
            for below in tuple(self._below[path]):
                self.discard(below)

    def fork(self) -> Fork:
        """Open a place where paths part; to be used in a `with` statement."""
        return Fork(self)

    def _put(self, path: str, value: Value) -> None:
        if "." in path and path not in self:
            for owner in _owners(path):
                self._below.setdefault(owner, set()).add(path)
        dict.__setitem__(self, path, value)

    def _remove(self, path: str) -> None:
        if "." in path:
            for owner in _owners(path):
                self._below[owner].discard(path)
        dict.__delitem__(self, path)


def _owners(path: str) -> list[str]:
    """Return `a` and `a.b` of `a.b.c`."""
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


class Fork:
    """A place where control flow parts: each branch is run, taken back, and merged.

    `with variables.fork() as fork:` run a branch, `fork.take()` it, and so on; then `apply` what
    the branches make of the variables together.
    """

    __slots__ = ("_mark", "_variables")

    def __init__(self, variables: Variables) -> None:
        self._variables = variables

    def __enter__(self) -> Fork:
        self._mark = len(self._variables._trail)
        self._variables._forks += 1
        return self

    def __exit__(self, *error: object) -> None:
        variables = self._variables
        variables._forks -= 1
        if not variables._forks:
            variables._trail.clear()

    def changes(self) -> Changes:
        """Return what was changed since the fork was opened."""
        trail = self._variables._trail
        return {path: self._variables.get(path) for path, _ in trail[self._mark :]}

    def take(self) -> Changes:
        """Take back what was changed since the fork was opened, and return it."""
        variables = self._variables
        trail = variables._trail
        changes = self.changes()
        for path, before in reversed(trail[self._mark :]):
            if before is not None:
                variables._put(path, before)
            elif path in variables:
                variables._remove(path)
        del trail[self._mark :]
        return changes

    def apply(self, changes: Changes) -> None:
        """Make changes that were taken back, or merged."""
        for path, value in changes.items():
            if value is not None:
                self._variables[path] = value
            else:
                self._variables.discard(path)

    def merged(self, left: Changes, right: Changes) -> Changes:
        """Join what two branches know, of what either has changed."""
        merged: dict[str, Value | None] = {}
        for path in (*left, *(path for path in right if path not in left)):
            before = self._variables.get(path)
            one, other = left.get(path, before), right.get(path, before)
            if one is None or other is None:
                merged[path] = other if one is None else one
            else:
                merged[path] = one if one is other else join(one, other)
        return merged


class Round(NamedTuple):
    """A loop's body while it runs: what variables are wherever it is left or begun anew."""

    fork: Fork
    left: list[Changes]

    def leave(self) -> None:
        """Note what variables are at a `break` or `continue`."""
        self.left.append(self.fork.changes())

    def end(self) -> Changes:
        """Take back what the body changed; return what variables may be after it."""
        return reduce(self.fork.merged, self.left, self.fork.merged(UNCHANGED, self.fork.take()))
