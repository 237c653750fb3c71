"""Patterns of dotted names, as the catalogue writes them: `torch.*_like`."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from functools import cache

from asyncguard.lint.names.words import compiled


@cache
def matcher(pattern: str) -> Callable[[str], object]:
    """Return what matches a pattern; few are asked about, so that each is compiled when it is."""
    return compiled(fnmatch.translate(pattern)).match


def literal_start(pattern: str) -> str:
    """Return a pattern of names up to its first wildcard."""
    return pattern[: min((at for at in map(pattern.find, "*?[") if at >= 0), default=len(pattern))]


class Patterns:
    """Maps dotted names to a word: exact names first, then the longest literal prefix."""

    def __init__(self, tables: Iterable[tuple[str, str, str]]) -> None:
        """Build from (pattern, word, framework) triples."""
        self.exact: dict[str, tuple[str, str]] = {}
        self.wild: list[tuple[int, str, str, tuple[str, str]]] = []
        for pattern, word, framework in tables:
            literal = literal_start(pattern)
            if literal != pattern:
                specific = len(literal) * 1000 + len(pattern)
                self.wild.append((specific, literal, pattern, (word, framework)))
            else:
                self.exact[pattern] = (word, framework)
        self.wild.sort(key=lambda entry: -entry[0])
        self.memo: dict[str, tuple[str, str] | None] = {}
        self._by_first: dict[str, list[tuple[int, str, str, tuple[str, str]]]] = {}

    def find(self, name: str) -> tuple[str, str] | None:
        """Return (word, framework) of `name`."""
        if name in self.memo:
            return self.memo[name]
        found = self.exact.get(name) or self._matched(name)
        self.memo[name] = found
        return found

    def _matched(self, name: str) -> tuple[str, str] | None:
        """Return that of the first pattern that matches; most start with another letter."""
        first = name[:1]
        if first not in self._by_first:
            self._by_first[first] = [e for e in self.wild if not e[1] or e[1][0] == first]
        for _, literal, pattern, answer in self._by_first[first]:
            if name.startswith(literal) and matcher(pattern)(name):
                return answer
        return None
