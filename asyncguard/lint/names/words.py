"""What names say, asked of a pattern once for each name: programs use the same ones all over."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

MAX_NAMES = 1 << 14  # whose answers to one question are kept


compiled = cache(re.compile)


def naming(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    """Return a function that says whether a pattern is found in a name.

    It is compiled at the first question: a short run asks few.
    """

    @lru_cache(MAX_NAMES)
    def found(name: str) -> bool:
        return compiled(pattern, flags).search(name) is not None

    return found
