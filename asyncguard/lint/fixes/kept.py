"""What repairs find out about the code of one file: found once, and let go of with the file."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
# A file is repaired scope by scope, at few at a time.
OF_SCOPES = 256
OF_STATEMENTS = 4096

_clear: list[Callable[[], None]] = []


def kept(size: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep the results of a function of syntax nodes, the newest `size` of them."""

    def keep(function: Callable[P, T]) -> Callable[P, T]:
        cached = lru_cache(size)(function)
        _clear.append(cached.cache_clear)
        return cast(Callable[P, T], cached)

    return keep


def forget() -> None:
    """Let go of everything that is known of a file."""
    for clear in _clear:
        clear()
