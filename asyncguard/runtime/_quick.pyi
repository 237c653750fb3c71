"""The short way of reads and marks, compiled from `_quick.c`."""

from collections.abc import Callable
from typing import Any

from asyncguard.runtime.hub import Beat, Doing, Front

INTERFACE: int

class Read:
    def __init__(
        self,
        original: Callable[..., Any],
        judge: Callable[[Any], object],
        rare: object,
        hook: Callable[..., Any],
        known: dict[int, Any],
        front: Front,
        beat: type[Beat],
        doing: type[Doing],
        above: int,
    ) -> None: ...
    def __call__(self, *args: Any, **named: Any) -> Any: ...

class Mark:
    def __init__(
        self,
        mark: Callable[[object], None],
        front: Front,
        beat: type[Beat],
        doing: type[Doing],
    ) -> None: ...
    def __call__(self, optimizer: object, *rest: Any) -> None: ...

def references(value: object, /) -> int: ...
