"""OpenTelemetry counters that read a running trace whenever they are collected.

    with asyncguard.trace() as trace, export(trace):
        serve_forever()

Needs `opentelemetry-api` only; which exporter collects how often is for the program to set up.
Nothing is done between two collections.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from asyncguard.api import Trace
from asyncguard.extras import needs
from asyncguard.runtime import ranks
from asyncguard.runtime.identity import identity
from asyncguard.version import __version__

with needs("otel", "opentelemetry"):
    from opentelemetry import metrics
    from opentelemetry.metrics import CallbackOptions, Meter, Observation

Place = tuple[str, str, str]  # framework, api, "path:line"


@contextmanager
def export(trace: Trace, meter: Any = None) -> Iterator[None]:
    """Report `trace` within the block, through `meter` (None: `asyncguard` of the global provider).

    `asyncguard.sync_points` (waits) and `asyncguard.cpu_stall` (seconds) carry the attributes
    `framework`, `api` and `site` ("path:line"); all three carry what is known of the run: `job`,
    `run`, `host`, `revision` and `rank`. They count on
    from one block to the next, as counters do, and add up the traces that run at the same time.
    """
    counters = _counters(meter or _global_meter())
    counters.begin(trace)
    try:
        yield
    finally:
        counters.end(trace)


class Counters:
    """The counters of one meter: what ended traces came to, and the traces that run."""

    def __init__(self, meter: Meter) -> None:
        self._lock = threading.Lock()  # exporters collect in threads of their own
        self._running: list[Trace] = []
        self._ended = Sums()
        meter.create_observable_counter(
            "asyncguard.sync_points", [self._waits], "{wait}", "Waits for the device"
        )
        meter.create_observable_counter(
            "asyncguard.cpu_stall", [self._stalls], "s", "Host time spent waiting"
        )
        meter.create_observable_counter("asyncguard.steps", [self._steps], "{step}", "Steps")

    def begin(self, trace: Trace) -> None:
        """Count this trace in from now on."""
        with self._lock:
            self._running.append(trace)

    def end(self, trace: Trace) -> None:
        """Keep what the trace has come to, and let it go."""
        with self._lock:
            self._running.remove(trace)
            self._ended.add(trace)

    def _sums(self) -> Sums:
        with self._lock:
            sums = Sums(self._ended)
            for trace in self._running:
                sums.add(trace)
        return sums

    def _waits(self, options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(n, _attributes(place)) for place, n in self._sums().waits.items()]

    def _stalls(self, options: CallbackOptions) -> Iterable[Observation]:
        stalls = self._sums().stalls_ns
        return [Observation(ns / 1e9, _attributes(place)) for place, ns in stalls.items()]

    def _steps(self, options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(self._sums().steps, _run())]


class Sums:
    """What several traces have come to; the threads of a site are added up."""

    def __init__(self, start: Sums | None = None) -> None:
        self.waits: Counter[Place] = Counter(start.waits if start else ())
        self.stalls_ns: Counter[Place] = Counter(start.stalls_ns if start else ())
        self.steps: int = start.steps if start else 0

    def add(self, trace: Trace) -> None:
        """Add what the trace has come to by now."""
        record = trace.record
        for site in record.sites:
            place = site.framework, site.api, f"{site.path}:{site.line}"
            self.waits[place] += site.count
            self.stalls_ns[place] += site.cpu_stall_ns
        self.steps += record.step_count


def _attributes(place: Place) -> dict[str, str]:
    return {**_run(), **dict(zip(("framework", "api", "site"), place, strict=True))}


@lru_cache(maxsize=1)
def _run() -> dict[str, str]:
    """Which run this process is of."""
    known = identity(os.getcwd(), ())
    found = {name: value for name, value in known.items() if isinstance(value, str)}
    seat = ranks.seat()
    return found if seat is None else {**found, "rank": str(seat.rank)}


# One each: OpenTelemetry takes an instrument once, and cannot take it away again.
_made: weakref.WeakKeyDictionary[Any, Counters] = weakref.WeakKeyDictionary()


def _counters(meter: Any) -> Counters:
    if meter not in _made:
        _made[meter] = Counters(meter)
    return _made[meter]


@lru_cache(maxsize=1)
def _global_meter() -> Any:
    return metrics.get_meter("asyncguard", __version__)
