"""What a look at Python's own syntax tree says of one function, before it gets a tree."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Outlined:
    """One function, as its `ast` shows it; lines count from 1."""

    name: str
    first: int = 0  # line of the first decorator, or of `def`
    line: int = 0  # of `def`
    last: int = 0
    indent: int = 0
    class_name: str = ""
    suspicious: bool = False  # something in it may be a sync point
    loops: bool = False
    over_steps: bool = False  # as far as its name and theirs tell
    steps: bool = False  # runs a backward pass or the like
    attributes: frozenset[str] = frozenset()  # of `self` that it gives values
    clocks: int = 0  # how often it reads a clock
    calls: frozenset[str] = frozenset()  # names it calls, without owners but checked modules
    hints: dict[str, tuple[str, str]] = field(default_factory=dict)  # of `self.x` paths
    binds: frozenset[str] = frozenset()  # variables
    takes: bool = False  # has parameters
    takes_many: bool = False  # one of them is what many batches come from, or a model
    of_engine: bool = False  # they are what Ignite hands its functions, once a step

    @property
    def qualname(self) -> str:
        """Its name within its class."""
        return f"{self.class_name}.{self.name}" if self.class_name else self.name

    def may_be_hot(self, reaching: set[str], *, hook: bool) -> bool:
        """Whether a sync point in it may be hot, by its loops or because its framework enters it.

        Or whether it measures a time: what it measures is asked wherever it runs.
        """
        if self.clocks > 1:
            return True
        hot = self.over_steps or self.steps or hook
        return hot and (self.suspicious or not reaching.isdisjoint(self.calls))
