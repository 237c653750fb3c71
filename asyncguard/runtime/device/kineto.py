"""torch's own profiler as the source of device times, where CUPTI itself cannot be had.

It keeps everything in memory until it stops, so it is for short runs. Only its device half is on
(`ProfilerActivity.CUDA`), which includes the runtime calls that enqueue. torch can run one profiler
at a time: where the user profiles, this source stays away.

The profiler stays attached to CUPTI when it stops, unless the environment says TEARDOWN_CUPTI=1:
CUDA calls may be slower for the rest of the process (pytorch#146604). That is left to the user,
because detaching has crashed programs with CUDA graphs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.device.source import Records, Unavailable

RUNS = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})


class Kineto:
    """One profile of the process's CUDA work. `torch` is the module."""

    name = "profiler"

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._profile: Any = None
        self._thread = 0
        self._records = Records()

    def start(self, full: Callable[[], None]) -> None:
        """Start the profiler; see `Source.start`."""
        torch = self._torch
        if not torch.cuda.is_available():
            raise Unavailable("torch sees no CUDA device")
        if private.is_profiling(torch):
            raise Unavailable("torch's profiler is in use")
        activity = torch.profiler.ProfilerActivity.CUDA
        if activity not in torch.profiler.supported_activities():
            raise Unavailable("this torch cannot profile CUDA")
        self._profile = torch.profiler.profile(activities=[activity])
        self._thread = threading.get_ident()
        self._profile.start()

    def timestamp(self) -> int:
        """Now, as the profiler stamps its events: since the epoch."""
        return time.time_ns()

    def drain(self) -> Records:
        """Everything, once stopped; until then nothing."""
        taken, self._records = self._records, Records()
        return taken

    def stop(self) -> None:
        """Stop the profiler and read its events; only the thread that started it can."""
        if threading.get_ident() != self._thread:  # torch would only warn, and go on profiling
            raise RuntimeError("torch's profiler can be stopped only in the thread that started it")
        self._profile.stop()
        for event in self._profile.profiler.kineto_results.events():
            self._take(event)
        self._profile = None

    def lost(self) -> int:
        """The profiler does not say."""
        return 0

    def _take(self, event: Any) -> None:
        on_device = event.device_type() == self._torch.autograd.DeviceType.CUDA
        if on_device and not _is_run(event):
            return
        begin, call = event.start_ns(), event.correlation_id()
        end = begin + event.duration_ns()
        if on_device:
            self._records.add_run(event.device_index(), begin, end, call, event.name())
        else:
            self._records.add_launch(call, begin, end)


def _is_run(event: Any) -> bool:
    """Whether an event on the device's track is work of the device, and no range of the user's."""
    kind = getattr(event, "activity_type", None)
    if kind is not None:
        return kind() in RUNS
    return not event.is_user_annotation()  # a torch whose events do not tell their type
