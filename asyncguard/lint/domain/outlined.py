"""What one look at a function says of it, before it is run."""

from __future__ import annotations

from dataclasses import dataclass, field

from asyncguard.lint.domain.hints import Hints


@dataclass(eq=False, slots=True)
class Outlined:
    """One function, as its tree shows it; lines count from 1."""

    name: str
    first: int  # line of the first decorator, or of `def`
    line: int  # of `def`
    last: int
    class_name: str
    parameters: tuple[str, ...]
    loops: bool = False
    calls_self: bool = False  # as a module that runs itself does
    uploads: bool = False  # moves something to a device, by its words
    attributes: frozenset[str] = frozenset()  # of `self` that it assigns
    collected: frozenset[str] = frozenset()  # those that it appends to
    hints: Hints = field(default_factory=dict)  # of `self.x` paths
    called: frozenset[str] = frozenset()  # such paths that it calls
