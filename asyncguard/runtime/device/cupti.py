"""CUPTI through NVIDIA's cupti-python: kernels, copies, memsets and the calls that enqueue them.

Works for every framework of the process at once. CUPTI has one subscriber (up to CUDA 13.2), so a
subscription of our own shows whether it is free, and keeps others from changing it under us. It is
finalised at the end: a CUPTI that only stopped collecting goes on slowing every CUDA call down
(pytorch#146604).

Records come in buffers, which cupti-python decodes in a thread of CUPTI's. What happens there is an
append; the thinking is done elsewhere. The buffers are large, because CUPTI asks for a new one in
the middle of a CUDA call, and the answer needs the interpreter's lock (pytorch#186295).
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from asyncguard.runtime.device.source import Records, Unavailable

BUFFER = 16 << 20  # bytes
PORTION = 16_384  # records after which `full` is called
DEVICE_KINDS = ("CONCURRENT_KERNEL", "MEMCPY", "MEMCPY2", "MEMSET")
HOST_KINDS = ("RUNTIME", "SYNCHRONIZATION")
# Compilers such as Triton launch through the driver, where RUNTIME does not see them.
LAUNCHES = ("cuLaunchKernel", "cuLaunchCooperativeKernel", "cuGraphLaunch", "cuMemcpy", "cuMemset")
FORCED = 1  # flush what is not complete, too


def find() -> Cupti:
    """The source; raises Unavailable where cupti-python is missing."""
    try:
        cupti = importlib.import_module("cupti.cupti")
        driver = importlib.import_module("cuda.bindings.driver")
    except (ImportError, OSError) as error:
        raise Unavailable(
            f"cupti-python cannot be imported ({error}); pip install cupti-python"
        ) from error
    return Cupti(cupti, driver)


class Cupti:
    """One subscription to CUPTI. `cupti` and `driver` are the modules, or what stands for them."""

    name = "cupti"

    def __init__(self, cupti: Any, driver: Any) -> None:
        self._cupti = cupti
        self._driver = driver
        self._lock = threading.Lock()
        self._records = Records()
        self._full: Callable[[], None] = lambda: None
        self._finalised = False
        self._lost = 0
        kinds = cupti.ActivityKind
        self._take: dict[int, Callable[[Any], None]] = {
            **{int(getattr(kinds, name)): self._ran for name in DEVICE_KINDS},
            int(kinds.RUNTIME): self._called,
            int(kinds.DRIVER): self._called,
            int(kinds.SYNCHRONIZATION): self._waited,
        }
        self._stream_waits = int(cupti.ActivitySynchronizationType.STREAM_WAIT_EVENT)

    def start(self, full: Callable[[], None]) -> None:
        """Subscribe and enable; see `Source.start`."""
        self._full = full
        try:
            self._subscriber = self._cupti.subscribe(self._on_call, None)
        # Besides its own error, cupti-python raises RuntimeError where it finds no library.
        except (self._cupti.cuptiError, RuntimeError) as error:
            raise Unavailable(
                f"CUPTI is taken by another profiler or not usable here: {error}"
            ) from error
        try:
            self._enable()
        except (self._cupti.cuptiError, RuntimeError) as error:
            self._finalise()
            raise Unavailable(f"CUPTI does not collect here: {error}") from error

    def _enable(self) -> None:
        cupti = self._cupti
        cupti.activity_register_callbacks(self._on_request, self._on_complete)
        for kind in self._kinds():
            cupti.activity_enable(kind)
        for call in cupti.driver_api_trace_cbid:
            if call.name.startswith(LAUNCHES):
                # One that this driver lacks only leaves its activities without a known origin,
                # which are counted as such and charged to nobody.
                with contextlib.suppress(cupti.cuptiError):
                    cupti.activity_enable_driver_api(call, 1)

    def _kinds(self) -> Iterator[Any]:
        for name in (*DEVICE_KINDS, *HOST_KINDS):
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
        """Collect the rest, and take CUPTI out of the process."""
        cupti = self._cupti
        try:
            cupti.activity_flush_all(FORCED)
            for kind in (*self._kinds(), cupti.ActivityKind.DRIVER):
                cupti.activity_disable(kind)
            self._lost = self._dropped()
        finally:
            self._finalise()

    def lost(self) -> int:
        """How many records CUPTI dropped."""
        return self._lost

    def _dropped(self) -> int:
        dropped = ctypes.c_size_t()
        self._cupti.activity_get_num_dropped_records(0, 0, ctypes.addressof(dropped))
        return dropped.value

    def _finalise(self) -> None:
        """Detach at the end of a CUDA call of our own, where NVIDIA says that it is safe to.

        Elsewhere another thread may be inside CUPTI at that moment.
        """
        cupti = self._cupti
        cupti.enable_callback(
            1,
            self._subscriber,
            cupti.CallbackDomain.DRIVER_API,
            cupti.driver_api_trace_cbid.cuDriverGetVersion,
        )
        self._driver.cuDriverGetVersion()
        if not self._finalised:  # the callback did not come
            self._finalised = True
            cupti.unsubscribe(self._subscriber)
            cupti.finalize()

    def _on_call(self, userdata: Any, domain: int, call: int, data: Any) -> None:
        leaving = data.callback_site == self._cupti.ApiCallbackSite.API_EXIT
        if leaving and not self._finalised:
            self._finalised = True
            self._cupti.finalize()

    def _on_request(self) -> tuple[int, int]:
        return BUFFER, 0  # as many records as it holds

    def _on_complete(self, activities: list[Any]) -> None:
        with self._lock:
            for activity in activities:
                take = self._take.get(activity.kind)
                if take is not None:
                    take(activity)
            full = len(self._records.runs) >= PORTION
        if full:
            self._full()

    def _ran(self, run: Any) -> None:
        name = getattr(run, "name", None) or type(run).__name__.removeprefix("Activity")
        self._records.add_run(run.device_id, run.start, run.end, run.correlation_id, name)

    def _called(self, call: Any) -> None:
        self._records.add_launch(call.correlation_id, call.start, call.end)

    def _waited(self, wait: Any) -> None:
        # One stream waiting for another does not hold the host.
        self._records.host_waits += int(wait.type) != self._stream_waits
