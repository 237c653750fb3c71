"""A machine in virtual time of which a trace sees the waits alone, and the backend's CPU time."""

from __future__ import annotations

from dataclasses import dataclass, field

from asyncguard import catalogue
from asyncguard.model import TraceRecord
from asyncguard.runtime.overlap import Overlap, Sample
from asyncguard.runtime.sites import Blocker, Site
from tests.machine import Machine

WAIT = catalogue.load()["engine.ndarray.item"]


@dataclass
class Watched(Machine):
    """As MXNet, JAX and TensorFlow on the CPU are: the backend takes `cores` when it is busy."""

    cores: float = 1.0
    overlap: Overlap = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.overlap = Overlap(self, warmup=1, clocks=lambda step: self._sample())
        self._places: dict[int, Site] = {}

    def wait(self, site: int = 0, return_ns: int = 0, back: int = 1) -> None:
        place = self._places.get(site)
        if place is None:
            blocker = Blocker(WAIT, "cpu", stand_in=False)
            place = self._places[site] = Site(blocker, "train.py", 10 + site, "train", ())
        began = self.overlap.begin()
        super().wait(site, return_ns, back)
        self.overlap.end(place, began)

    def _sample(self) -> Sample:
        return Sample(self.timeline.now, int(self.cores * self.busy_ns))

    @property
    def busy_ns(self) -> int:
        """For how long the backend has run until now."""
        now = self.timeline.now
        return sum(max(min(run.end_ns, now) - run.begin_ns, 0) for run in self.runs)

    def record(self, runs: bool = False, sites: int = 1, timeline: bool = True) -> TraceRecord:
        return self.overlap.annotate(super().record(runs, sites, timeline))
