"""What names say, asked of a pattern once for each name: programs use the same ones all over."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

MAX_NAMES = 1 << 14  # whose answers to one question are kept


def naming(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    """Return a function that says whether a pattern is found in a name."""
    search = re.compile(pattern, flags).search

    @lru_cache(MAX_NAMES)
    def found(name: str) -> bool:
        return search(name) is not None

    return found
