"""The options of a trace: one frozen record, checked when it is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from asyncguard.model import AsyncguardError
from asyncguard.runtime.registry import homes

TIMELINE_EVENTS = 100_000  # kept where a timeline is asked for without a number
Depth = Literal["light", "full"]
DeviceTimes = Literal["auto", "cupti", "profiler"]
Ranges = Literal["record_function", "nvtx"]
DEPTHS: tuple[Depth, ...] = ("light", "full")


@dataclass(frozen=True)
class Options:
    """What a trace records, and how. Raises AsyncguardError for what cannot be.

    frameworks: the names to watch; None: all that are or will be imported.
    count_cpu:  torch: whether reads of CPU tensors count; None: only while no accelerator is in
                use, where they stand in for device tensors.
    warmup:     how many steps at the start are kept apart from the per-step figures.
    timeline:   how many of the newest waits and steps to keep one by one; None: none; True:
                100,000.
    depth:      "light": the entry points that Python can call; "full": also the operators that
                torch runs below Python, in the thread that starts the trace.
    device_times: who measures the idle time of the device that each wait causes: "cupti",
                "profiler" (torch's), or "auto", the first of them that can. None: nobody does.
    cross_check: whether to compare with the waits that torch itself reports on CUDA.
    driver:     whether to count what CUDA's driver sees, in all threads; not beside device_times
                and cross_check, nor for some frameworks alone.
    ranges:     "record_function" or "nvtx": ranges round the waits, for other profilers.
    lines:      whether to record which lines of the user's own files run.
    own:        packages, named as they are imported, whose lines are the user's own.
    races:      whether to ask, where host memory is used, if the copies in flight that use it are
                done: copies in all threads, uses in the thread that starts the trace.
    clock:      returns nanoseconds; within `simulate_cuda` the default is its virtual clock.
    """

    frameworks: Iterable[str] | None = None
    count_cpu: bool | None = None
    warmup: int = 1
    timeline: int | bool | None = None
    depth: Depth = "light"
    device_times: DeviceTimes | None = None
    cross_check: bool = False
    driver: bool = False
    ranges: Ranges | None = None
    lines: bool = False
    own: Iterable[str] = ()
    races: bool = False
    clock: Callable[[], int] = time.perf_counter_ns

    def __post_init__(self) -> None:
        if self.depth not in DEPTHS:
            raise AsyncguardError(f"unknown depth {self.depth!r}; one of {', '.join(DEPTHS)}")
        _check_number("warmup", self.warmup)
        if not isinstance(self.timeline, bool):
            _check_number("timeline", self.timeline or 0)
        _check_clock(self.clock)
        if self.driver:
            _check_driver(self)
        object.__setattr__(self, "frameworks", _known(self.frameworks))
        own = (self.own,) if isinstance(self.own, str) else tuple(self.own)
        object.__setattr__(self, "own", own)

    @property
    def watched(self) -> frozenset[str] | None:
        """The names of the frameworks to watch; None: all."""
        assert self.frameworks is None or isinstance(self.frameworks, frozenset)
        return self.frameworks

    @property
    def timeline_events(self) -> int | None:
        """How many events of the timeline to keep; None: none."""
        return TIMELINE_EVENTS if self.timeline is True else int(self.timeline or 0) or None


def _check_driver(options: Options) -> None:
    others = {
        "device_times": (options.device_times, "a process has one CUPTI"),
        "cross_check": (options.cross_check, "both would count the same waits"),
        "frameworks": (options.frameworks, "the driver does not know whose calls they are"),
    }
    for name, (given, why) in others.items():
        if given:
            raise AsyncguardError(f"driver and {name} exclude each other: {why}; leave one out")


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise AsyncguardError(f"{name} must be a whole number from 0 up, not {value!r}")


def _check_clock(clock: Callable[[], int]) -> None:
    """Ask it once, here: within the program that is traced it would be too late to object."""
    if not callable(clock):
        raise AsyncguardError(f"clock must be a function, not {clock!r}")
    try:
        now: object = clock()
    except Exception as error:
        raise AsyncguardError(f"clock must return nanoseconds, but raised {error!r}") from error
    if isinstance(now, bool) or not isinstance(now, int):
        raise AsyncguardError(f"clock must return nanoseconds as an int, not {now!r}")


def _known(frameworks: Iterable[str] | None) -> frozenset[str] | None:
    if frameworks is None:
        return None
    try:
        names = frozenset([frameworks] if isinstance(frameworks, str) else frameworks)
    except TypeError:
        raise AsyncguardError(f"frameworks must be names, not {frameworks!r}") from None
    if unknown := names - set(homes()):
        raise AsyncguardError(
            f"unknown framework {min(unknown, key=str)!r}; one of {', '.join(sorted(homes()))}"
        )
    return names
