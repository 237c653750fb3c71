"""The one subscription that a process has to CUPTI, and how to leave CUPTI behind.

CUPTI has one subscriber (up to CUDA 13.2), so a subscription shows whether it is free. It is
finalised at the end: a CUPTI that only stopped collecting goes on slowing every CUDA call down
(pytorch#146604).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from asyncguard.runtime.device.source import Unavailable

# Names of the calls' enumerations, which cupti-python has changed twice.
RUNTIME_CALLS = ("Runtime_api_trace_cbid", "RuntimeApiTraceCbid", "runtime_api_trace_cbid")
DRIVER_CALLS = ("Driver_api_trace_cbid", "DriverApiTraceCbid", "driver_api_trace_cbid")
OnCall = Callable[[int, int, bool], None]


def modules() -> tuple[Any, Any]:
    """cupti-python and the driver's bindings; raises Unavailable where they are missing."""
    try:
        cupti = importlib.import_module("cupti.cupti")
        driver = importlib.import_module("cuda.bindings.driver")
    except (ImportError, OSError) as error:
        raise Unavailable(
            f"cupti-python cannot be imported ({error}); install the cupti-python of the CUDA"
            ' version that the framework was built for, such as "cupti-python==13.2.*"'
        ) from error
    return cupti, driver


class Subscription:
    """One subscription to CUPTI. `cupti` and `driver` are the modules, or what stands for them.

    `on_call` is told of the calls that `watch` names: domain, number, and whether it is over.
    `failures` are those in CUPTI's callbacks, where nobody could catch them.
    """

    def __init__(self, cupti: Any, driver: Any, on_call: OnCall | None = None) -> None:
        self._cupti = cupti
        self._driver = driver
        self._on_call = on_call
        self._left = self._leaving = False
        self.failures: list[Exception] = []

    def open(self) -> None:
        """Subscribe; raises Unavailable where another profiler has, or there is no device."""
        try:
            self._subscriber = self._cupti.subscribe(self._called, None)
        # Besides its own error, cupti-python raises RuntimeError where it finds no library.
        except (self._cupti.cuptiError, RuntimeError) as error:
            raise Unavailable(
                f"CUPTI is taken by another profiler or not usable here: {error}"
            ) from error

    def watch(self, domain: Any, call: Any) -> None:
        """Have a call of an API told to `on_call`."""
        self._cupti.enable_callback(1, self._subscriber, domain, call)

    def close(self) -> None:
        """Detach at the end of a CUDA call of our own, where NVIDIA says that it is safe to.

        Elsewhere another thread may be inside CUPTI at that moment. (Beside CUDA graphs finalising
        crashed before CUDA 12.6, which is where cupti-python begins.)
        """
        cupti = self._cupti
        call = enumeration(cupti, DRIVER_CALLS).cuDriverGetVersion
        self._leaving = True
        try:
            self.watch(cupti.CallbackDomain.DRIVER_API, call)
            self._driver.cuDriverGetVersion()
        finally:
            if not self._left:  # the callback did not come
                self._leave()
        if self.failures:
            raise self.failures[0]

    def _leave(self) -> None:
        self._left = True
        try:
            self._cupti.unsubscribe(self._subscriber)
        finally:
            self._cupti.finalize()

    def _called(self, userdata: Any, domain: int, call: int, data: Any) -> None:
        over = data.callback_site == self._cupti.ApiCallbackSite.API_EXIT
        try:
            if self._is_last(domain, call):
                if over and not self._left:
                    self._leave()
            elif self._on_call is not None:
                self._on_call(int(domain), int(call), over)
        except Exception as error:  # noqa: BLE001
            self.failures.append(error)

    def _is_last(self, domain: int, call: int) -> bool:
        """Whether it is the call that `close` makes."""
        return self._leaving and (self._on_call is None or self._is_ours(domain, call))

    def _is_ours(self, domain: int, call: int) -> bool:
        ours = enumeration(self._cupti, DRIVER_CALLS).cuDriverGetVersion
        driver = self._cupti.CallbackDomain.DRIVER_API
        return (int(domain), int(call)) == (int(driver), int(ours))


def enumeration(cupti: Any, names: tuple[str, ...]) -> Any:
    """An enumeration by the first of its names that there is."""
    return next(getattr(cupti, name) for name in names if hasattr(cupti, name))
