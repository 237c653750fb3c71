"""How busy a backend was while the host worked: from the CPU time of the other threads.

An asynchronous CPU backend (MXNet, JAX, TensorFlow) reports no intervals, but it takes CPU time.
While the host is blocked the backend works: that shows how much CPU time it takes when busy.
What it took while the host worked, relative to that, is the share of the time in which it worked
beside the host. The clocks of process and thread are read around each wait, which costs some
microseconds; so it is only done where a timeline was asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol

from asyncguard.model import TraceRecord
from asyncguard.runtime.sites import Site

ENOUGH = 0.02  # of the time has to be spent waiting, or its CPU time says nothing


class Steps(Protocol):
    """Who counts the steps: the session's recorder."""

    @property
    def step(self) -> int:
        """The number of the step under way."""


class Sample(NamedTuple):
    """Three clocks at one moment, in ns; `others` is the CPU time of all threads but this one."""

    now: int
    others: int


def read_clocks() -> Sample:
    """The clocks now."""
    return Sample(time.perf_counter_ns(), time.process_time_ns() - time.thread_time_ns())


class Overlap:
    """A `hub.Sink` that compares CPU time within waits and between them."""

    def __init__(
        self, steps: Steps, warmup: int, clocks: Callable[[], Sample] = read_clocks
    ) -> None:
        self._steps = steps
        self._warmup = warmup
        self._clocks = clocks
        self._host = threading.get_ident()
        self._last: Sample | None = None  # when the last wait was over
        self._waited = self._worked = self._cpu_waited = self._cpu_worked = 0

    def begin(self) -> Sample:
        """Called right before a wait."""
        return self._clocks()

    def end(self, site: Site, began: Sample) -> None:
        """Called right after it."""
        if threading.get_ident() != self._host or not _is_asynchronous(site):
            return
        now = self._clocks()
        if self._steps.step >= self._warmup and self._last is not None:
            self._worked += began.now - self._last.now
            self._cpu_worked += began.others - self._last.others
            self._waited += now.now - began.now
            self._cpu_waited += now.others - began.others
        self._last = now if self._steps.step >= self._warmup else None

    def waited(self, site: Site, begin: int, end: int) -> None:
        """Not for us: a backend that keeps time itself says what it did."""

    def idled(self, site: Site, begin: int, end: int) -> None:
        """Not for us."""

    def event(
        self,
        kind: str,
        name: str,
        begin: int,
        end: int,
        thread: str = "",
        serial: int | None = None,
        nbytes: int | None = None,
    ) -> None:
        """Not for us."""

    @property
    def share(self) -> float | None:
        """The share of the host's own time in which the backend worked; None where unknown."""
        whole = self._waited + self._worked
        if not self._worked or self._waited < ENOUGH * whole or self._cpu_waited <= 0:
            return None
        when_busy = self._cpu_waited / self._waited
        return min(max(self._cpu_worked / self._worked / when_busy, 0.0), 1.0)

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record with the share, where it is known."""
        share = self.share
        if share is None:
            return record
        return replace(record, extra={**record.extra, "backend_overlap": round(share, 4)})


def _is_asynchronous(site: Site) -> bool:
    blocker = site.blocker
    return not blocker.stand_in and "cpu" in blocker.device.lower()
