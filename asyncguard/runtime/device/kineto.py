"""torch's own profiler as the source of device times, where CUPTI itself cannot be had.

It keeps everything in memory until it stops, so it is for short runs. Only its device half is on
(`ProfilerActivity.CUDA`), which includes the runtime calls that enqueue. torch can run one profiler
at a time: where the user profiles, this source stays away.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from asyncguard.runtime.device.source import Records, Unavailable

RUNS = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
# In torch versions whose events do not tell their type, these names do. They lie on the device's
# track, but it is the host that they tell about.
HOST_WAITS = frozenset({"Context Sync", "Stream Sync", "Event Sync"})
STREAM_WAIT = "Stream Wait Event"


class Kineto:
    """One profile of the process's CUDA work. `torch` is the module."""

    name = "profiler"

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._profile: Any = None
        self._records = Records()

    def start(self, full: Callable[[], None]) -> None:
        """Start the profiler; see `Source.start`."""
        torch = self._torch
        if not torch.cuda.is_available():
            raise Unavailable("torch sees no CUDA device")
        if torch.autograd._profiler_enabled():
            raise Unavailable("torch's profiler is in use")
        activity = torch.profiler.ProfilerActivity.CUDA
        if activity not in torch.profiler.supported_activities():
            raise Unavailable("this torch cannot profile CUDA")
        self._profile = torch.profiler.profile(
            activities=[activity],
            experimental_config=torch._C._profiler._ExperimentalConfig(
                enable_cuda_sync_events=True
            ),
        )
        self._profile.start()

    def timestamp(self) -> int:
        """Now, as the profiler stamps its events: since the epoch."""
        return time.time_ns()

    def drain(self) -> Records:
        """Everything, once stopped; until then nothing."""
        taken, self._records = self._records, Records()
        return taken

    def stop(self) -> None:
        """Stop the profiler and read its events."""
        self._profile.stop()
        for event in self._profile.profiler.kineto_results.events():
            self._take(event)
        self._profile = None

    def lost(self) -> int:
        """The profiler does not say."""
        return 0

    def _take(self, event: Any) -> None:
        name = event.name()
        on_device = event.device_type() == self._torch.autograd.DeviceType.CUDA
        if name in HOST_WAITS:
            self._records.host_waits += 1
        elif not on_device:
            begin, end = event.start_ns(), event.start_ns() + event.duration_ns()
            self._records.add_launch(event.correlation_id(), begin, end)
        elif _is_run(event, name):
            begin, end = event.start_ns(), event.start_ns() + event.duration_ns()
            device, call = event.device_index(), event.correlation_id()
            self._records.add_run(device, begin, end, call, name)


def _is_run(event: Any, name: str) -> bool:
    kind = getattr(event, "activity_type", None)
    if kind is not None:
        return kind() in RUNS
    return name != STREAM_WAIT and not event.is_user_annotation()
