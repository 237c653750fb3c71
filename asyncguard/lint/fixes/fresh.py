"""Names for new variables: such as nothing uses where they are to stand."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Sequence

import libcst as cst

_WORD = r"(?<![\w.])[^\W\d]\w*"
_RESERVED = {*keyword.kwlist, *vars(builtins)}


class FreshNames:
    """The names that are given in one file, and the code that each is for."""

    def __init__(self, tree: cst.Module) -> None:
        self._tree = tree
        self._taken: dict[str, list[Sequence[cst.CSTNode]]] = {}
        self._numbers: dict[tuple[str, cst.CSTNode], int] = {}  # of the newest
        self._used: dict[cst.CSTNode, frozenset[str]] = {}

    def name(self, name: str, scope: cst.CSTNode, text: str, around: Sequence[cst.CSTNode]) -> str:
        """Return a name that a scope, whose text is given, does not use.

        It is for the first of the nodes, the others of which are around it; for the file if there
        is none.
        """
        place = around[0] if around else self._tree
        if scope not in self._used:
            self._used[scope] = frozenset(re.findall(_WORD, text))
        number = self._numbers.get((name, place), 1)
        tried = name if number == 1 else f"{name}_{number}"
        while tried in self._used[scope] or tried in _RESERVED or self._is_taken(tried, around):
            number += 1
            tried = f"{name}_{number}"
        self._numbers[name, place] = number
        self._taken.setdefault(tried, []).append(around)
        return tried

    def _is_taken(self, name: str, around: Sequence[cst.CSTNode]) -> bool:
        """Whether a new name is in a stretch of code, in one around it, or anywhere in the file."""
        return any(
            not around or not others or others[0] in around or around[0] in others
            for others in self._taken.get(name, ())
        )
