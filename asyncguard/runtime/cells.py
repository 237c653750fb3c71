"""What happened at one site, in one thread or task."""

from __future__ import annotations

from asyncguard.runtime.sites import Site

Paths = dict[Site, tuple[int, int]]  # waits and stall of a line by call path


class Cell:
    """What happened at one site in one thread or task.

    `base` and `base_stall` are what `count` and `stall` were when `step`, the newest step that
    waited here, began; `base_steps`, in how many earlier steps it had waited;
    `warm`, `warm_stall` and `warm_steps` are what they were when the warm-up ended. `most` is the
    most waits in one complete step since. `steps` is
    in how many steps it waited. `beside` is what composite calls took beside the reads that wait in
    them, in ns. `paths` are waits and stall of the call paths other than the first.
    """

    __slots__ = (
        "base", "base_stall", "base_steps", "beside", "buckets", "count", "first", "longest",
        "most", "paths", "stall", "step", "steps", "warm", "warm_stall", "warm_steps",
    )  # fmt: skip

    def __init__(self, step: int) -> None:
        self.count = 0
        self.stall = 0
        self.longest = 0
        self.beside = 0
        self.buckets: dict[int, int] = {}  # a stall of n ns falls into bucket n.bit_length()
        self.first = step
        self.step = step
        self.steps = 1
        self.base = self.base_stall = 0
        self.warm = self.warm_stall = 0
        self.base_steps = self.warm_steps = self.most = 0
        self.paths: Paths | None = None

    @property
    def steady(self) -> int:
        """Of `count`, what fell into complete steps past the warm-up; for a settled cell."""
        return self.base - self.warm

    @property
    def steady_stall(self) -> int:
        """Of `stall`, what fell into complete steps past the warm-up; for a settled cell."""
        return self.base_stall - self.warm_stall

    def steady_at(self, step: int, warmup: int) -> int:
        """What `steady` is of a copy that is settled as of `step`."""
        base = self.count if self.step < step else self.base
        return base - (base if self.step < warmup else self.warm)

    @property
    def visits(self) -> int:
        """In how many complete steps past the warm-up it waited; for a settled cell."""
        return self.base_steps - self.warm_steps

    def settled(self, step: int, warmup: int) -> Cell:
        """A copy as of `step`; the thread that owns the cell may go on appending."""
        copy = Cell(self.first)
        copy.steps = 0
        copy.add(self)
        copy.settle(step, warmup)
        return copy

    def settle(self, step: int, warmup: int) -> None:
        """Let the step that is under way be as of `step`."""
        if self.step < step:
            if self.step >= warmup:
                self.most = max(self.most, self.count - self.base)
            self.base, self.base_stall, self.base_steps = self.count, self.stall, self.steps
        if self.step < warmup:
            self.warm, self.warm_stall = self.base, self.base_stall
            self.warm_steps = self.base_steps

    def add(self, other: Cell) -> None:
        """Take in another cell of the same site; the older of the two has to be settled."""
        self.count += other.count
        self.stall += other.stall
        self.beside += other.beside
        self.longest = max(self.longest, other.longest)
        for bits, count in list(other.buckets.items()):
            self.buckets[bits] = self.buckets.get(bits, 0) + count
        self.first = min(self.first, other.first)
        self.step = max(self.step, other.step)
        self.steps += other.steps
        self.base += other.base
        self.base_stall += other.base_stall
        self.warm += other.warm
        self.warm_stall += other.warm_stall
        self.base_steps += other.base_steps
        self.warm_steps += other.warm_steps
        self.most = max(self.most, other.most)
        for site, (count, stall) in list((other.paths or {}).items()):
            self.add_path(site, count, stall)

    def add_path(self, site: Site, count: int, stall: int) -> None:
        """Take in waits of one of the call paths; they are part of the cell's figures as well."""
        if self.paths is None:
            self.paths = {}
        counts, stalls = self.paths.get(site, (0, 0))
        self.paths[site] = counts + count, stalls + stall

    def restart(self) -> None:
        """Let everything so far belong to step 0."""
        self.first = self.step = self.base = self.base_stall = 0
        self.steps = 1
        self.warm = self.warm_stall = 0
        self.base_steps = self.warm_steps = self.most = 0
