"""What a recorder tells: its whole state, its sums, or the figures of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from asyncguard.model import SiteStats, a_step
from asyncguard.runtime.cells import Cell
from asyncguard.runtime.sinks import Event
from asyncguard.runtime.sites import Site


@dataclass(frozen=True)
class Reading:
    """The recorder's state at one moment; times in ns of its clock, from its start."""

    cells: tuple[tuple[Site, str, Cell], ...]  # site, thread name, figures
    idle: dict[Site, int]  # device idle time by site, where it was measured
    steps: int
    steady_steps: int
    steady_duration: int
    step_syncs: tuple[int, ...]
    step_allowed: tuple[int, ...]  # of those, what `allow_syncs` covered
    step_collective_ns: tuple[int, ...]  # waited for other ranks; empty where never
    duration: int
    stand_in: bool  # whether CPU values stood in for device values
    keeps_timeline: bool = False
    events: tuple[Event, ...] = ()
    boundaries: tuple[int, ...] = ()  # of the newest steps, on the recorder's clock
    start: int = 0


class Totals(NamedTuple):
    """Sums over all sites: waits, nanoseconds blocked in them, and steps marked."""

    syncs: int
    cpu_stall_ns: int
    steps: int


class Figures(NamedTuple):
    """What a record's own figures would be, without one being made; times in nanoseconds."""

    total_syncs: int
    steady_syncs: int  # of those, in complete steps past the warm-up
    cpu_stall_ns: int
    gpu_stall_ns: int | None
    step_count: int
    steady_steps: int
    steady_duration_ns: int

    @property
    def syncs_per_step(self) -> float | None:
        """As a record's."""
        return a_step(self.total_syncs, self.step_count, self.steady_syncs, self.steady_steps)


class Progress(NamedTuple):
    """How a run goes: its figures so far, some sites, ns since its start, all of them modelled?"""

    figures: Figures
    sites: tuple[SiteStats, ...]
    duration_ns: int
    modelled: bool
