"""CUPTI through NVIDIA's cupti-python: kernels, copies, memsets and the calls that enqueue them.

Works for every framework of the process at once. CUPTI has one subscriber (up to CUDA 13.2), so a
subscription of our own shows whether it is free, and keeps others from changing it under us. It is
finalised at the end: a CUPTI that only stopped collecting goes on slowing every CUDA call down
(pytorch#146604).

Records come in buffers, which cupti-python decodes in a thread of CUPTI's that holds a lock of
CUPTI's: all CUDA calls wait meanwhile. What happens there is an append and a request to
`DeviceTimes`, which thinks in a thread of its own. It still needs the interpreter's lock, and so
does the answer to CUPTI's request for a buffer in the middle of a CUDA call. A thread that enters
CUDA without giving that lock up may deadlock with either (pytorch#186295); of native callbacks
there are none for other frameworks than torch. Large buffers make that rare, not impossible.

Only calls that enqueue are recorded: a program asks the runtime for its device, and events for
their state, several times for each kernel. CUPTI takes that the long way round: it records all
calls of an API, and the others are silenced one by one. Enabling those that are wanted without
their kind is accepted and delivers nothing (CUDA 13.0 on an H200, November 2026).
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

from asyncguard.runtime.device.source import Records, Unavailable
from asyncguard.runtime.device.subscription import (
    DRIVER_CALLS,
    RUNTIME_CALLS,
    Subscription,
    enumeration,
    modules,
)

BUFFER = 8 << 20  # bytes; NVIDIA advises 1 to 10 MB
PORTION = 16_384  # records after which `full` is called
DEVICE_KINDS = ("CONCURRENT_KERNEL", "MEMCPY", "MEMCPY2", "MEMSET")
COPIES = ("MEMCPY", "MEMCPY2")
API_KINDS = ("RUNTIME", "DRIVER")
RUNTIME_LAUNCHES = (
    "cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaGraphLaunch", "cudaMemcpy",
    "cudaMemset",
)  # fmt: skip
# Compilers such as Triton launch through the driver, where the runtime's calls do not show it.
DRIVER_LAUNCHES = (
    "cuLaunchKernel", "cuLaunchCooperativeKernel", "cuGraphLaunch", "cuMemcpy", "cuMemset",
)  # fmt: skip
FORCED = 1  # flush what is not complete, too


def find() -> Cupti:
    """The source; raises Unavailable where cupti-python is missing."""
    return Cupti(*modules())


class Cupti:
    """One subscription to CUPTI. `cupti` and `driver` are the modules, or what stands for them."""

    name = "cupti"

    def __init__(self, cupti: Any, driver: Any) -> None:
        self._cupti = cupti
        self._driver = driver
        self._lock = threading.Lock()
        self._records = Records()
        self._full: Callable[[], None] = lambda: None
        self._subscription = Subscription(cupti, driver)
        self._lost = 0
        self._silenced: list[tuple[Callable[[Any, int], None], Any]] = []
        self._driver_calls = enumeration(cupti, DRIVER_CALLS)
        kinds = cupti.ActivityKind
        self._take: dict[int, Callable[[Any], None]] = {
            **{int(getattr(kinds, name)): self._ran for name in DEVICE_KINDS},
            **{int(getattr(kinds, name)): self._copied for name in COPIES},
            int(kinds.RUNTIME): self._called,
            int(kinds.DRIVER): self._called,
        }

    def start(self, full: Callable[[], None]) -> None:
        """Subscribe and enable; see `Source.start`."""
        self._full = full
        self._subscription.open()
        try:
            self._enable()
        except (self._cupti.cuptiError, RuntimeError) as error:
            self._subscription.close()
            raise Unavailable(f"CUPTI does not collect here: {error}") from error

    def _enable(self) -> None:
        cupti = self._cupti
        cupti.activity_register_callbacks(self._on_request, self._on_complete)
        for kind in self._kinds():
            cupti.activity_enable(kind)
        runtime_calls = enumeration(cupti, RUNTIME_CALLS)
        self._silence_others(cupti.activity_enable_runtime_api, runtime_calls, RUNTIME_LAUNCHES)
        self._silence_others(cupti.activity_enable_driver_api, self._driver_calls, DRIVER_LAUNCHES)

    def _silence_others(
        self, enable: Callable[[Any, int], None], calls: Any, prefixes: tuple[str, ...]
    ) -> None:
        for call in calls:
            if not call.name.startswith(prefixes):
                # One that this driver lacks has no records either.
                with contextlib.suppress(self._cupti.cuptiError):
                    enable(call, 0)
                    self._silenced.append((enable, call))

    def _kinds(self) -> Iterator[Any]:
        for name in DEVICE_KINDS + API_KINDS:
            yield getattr(self._cupti.ActivityKind, name)

    def timestamp(self) -> int:
        """Now, as CUPTI stamps its records."""
        return int(self._cupti.get_timestamp())

    def drain(self) -> Records:
        """What has come in so far."""
        with self._lock:
            taken, self._records = self._records, Records()
        return taken

    def stop(self) -> None:
        """Collect the rest, and take CUPTI out of the process.

        Every step is tried whatever became of the others; then the first failure is raised.
        """
        cupti = self._cupti
        with contextlib.ExitStack() as steps:  # the last one first
            steps.callback(self._subscription.close)
            steps.callback(self._count_lost)
            for kind in self._kinds():
                steps.callback(cupti.activity_disable, kind)
            for enable, call in self._silenced:
                steps.callback(enable, call, 1)
            steps.callback(cupti.activity_flush_all, FORCED)
            # What is in flight would come without times. Where this thread has no context it
            # returns an error, and there is nothing of this thread's to wait for.
            steps.callback(self._driver.cuCtxSynchronize)

    def lost(self) -> int:
        """How many records CUPTI dropped."""
        return self._lost

    def _count_lost(self) -> None:
        dropped = ctypes.c_size_t()
        self._cupti.activity_get_num_dropped_records(0, 0, ctypes.addressof(dropped))
        self._lost = dropped.value

    def _on_request(self) -> tuple[int, int]:
        return BUFFER, 0  # as many records as it holds

    def _on_complete(self, activities: list[Any]) -> None:
        try:
            with self._lock:
                for activity in activities:  # not to be kept: they die with the buffer
                    take = self._take.get(activity.kind)
                    if take is not None:
                        take(activity)
                full = len(self._records) >= PORTION
        except Exception as error:  # noqa: BLE001
            self._subscription.failures.append(error)
            return
        if full:
            self._full()

    def _ran(self, run: Any) -> None:
        name = getattr(run, "name", None) or type(run).__name__.removeprefix("Activity")
        self._add(run, name.rstrip("0123456789") if name.startswith("Memset") else name)

    def _copied(self, copy: Any) -> None:
        self._add(copy, f"Memcpy {self._cupti.ActivityMemcpyKind(copy.copy_kind).name}")

    def _add(self, run: Any, name: str) -> None:
        self._records.add_run(run.device_id, run.start, run.end, run.correlation_id, name)

    def _called(self, call: Any) -> None:
        self._records.add_launch(call.correlation_id, call.start, call.end)
