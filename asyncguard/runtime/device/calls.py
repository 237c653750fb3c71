"""What the driver saw: calls of CUDA that hold the host, told by CUPTI in the thread that waits.

Hooks see what Python calls. CUPTI also sees C++ extensions and torch's own threads; what is known
there is the call, how long it took, and Python's stack where the thread has one. A call of the
runtime makes others of the driver: the outermost one is the wait.

CUPTI calls into Python here, which takes the interpreter's lock: as with device times, a thread
that enters CUDA without giving it up may deadlock (pytorch#186295). By their names asynchronous
copies that block because of pageable memory cannot be told from others, and do not count;
`cudaMemcpy` counts also within a device.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from asyncguard.model import AsyncguardError, SyncKind
from asyncguard.runtime.device.source import Unavailable
from asyncguard.runtime.device.subscription import (
    DRIVER_CALLS,
    RUNTIME_CALLS,
    Subscription,
    enumeration,
    modules,
)

_VERSION = re.compile(r"(?:_v\d+)?(?:_pt[sd][sz])?(?:_v\d+)?$")
_NO_WAIT = r"\w*(?:Async|DtoD|[AD]toA|AtoD|Peer)"  # they return at once, or stay on the device
_WAITS = re.compile(rf"(?:cuda|cu)(?:\w+Synchronize|Memcpy(?!{_NO_WAIT})\w*)$")
_UPLOADS = re.compile(r"HtoD|HtoA|ToSymbol|MemcpyToArray")


def kind_of(api: str) -> SyncKind:
    """What a call is that waits, as far as its name tells."""
    if api.endswith("Synchronize"):
        return SyncKind.BARRIER
    return SyncKind.UPLOAD if _UPLOADS.search(api) else SyncKind.ARRAY


class DriverCalls:
    """Tells `waited(api, frame, begin, end)` of each call that held the host, in its thread.

    `frame` is that of Python's code which made the call; None in a thread that runs none.
    """

    def __init__(
        self,
        clock: Callable[[], int],
        waited: Callable[[str, FrameType | None, int, int], None],
        find: Callable[[], tuple[Any, Any]] = modules,
    ) -> None:
        self._clock = clock
        self._waited = waited
        self._find = find
        self._subscription: Subscription | None = None
        self._apis: dict[tuple[int, int], str] = {}
        self._under_way = threading.local()
        self._process = 0

    def start(self) -> None:
        """Subscribe to CUPTI. Raises AsyncguardError with the remedy where that cannot be."""
        try:
            cupti, driver = self._find()
            subscription = Subscription(cupti, driver, self._called)
            subscription.open()
        except Unavailable as reason:
            raise AsyncguardError(
                f"driver: {reason}; it needs an NVIDIA GPU, its driver and cupti-python: leave it "
                "out to count what hooks see"
            ) from reason
        self._subscription, self._process = subscription, os.getpid()
        # A session that nobody stops must not leave CUPTI calling into a Python that ends.
        atexit.register(self.stop)
        try:
            self._watch(cupti, subscription)
        except Exception as error:
            self.stop()
            raise AsyncguardError(
                f"driver: CUPTI tells of no calls here ({error}); leave it out to count what "
                "hooks see"
            ) from error

    def _watch(self, cupti: Any, subscription: Subscription) -> None:
        domains = cupti.CallbackDomain
        for domain, names in (
            (domains.RUNTIME_API, RUNTIME_CALLS), (domains.DRIVER_API, DRIVER_CALLS),
        ):  # fmt: skip
            for call in enumeration(cupti, names):
                api = _VERSION.sub("", call.name)
                if _WAITS.match(api):
                    self._apis[int(domain), int(call)] = api
                    with suppress(cupti.cuptiError):  # one that this driver lacks is never made
                        subscription.watch(domain, call)

    def stop(self) -> None:
        """Leave CUPTI; raises what failed in its callbacks."""
        atexit.unregister(self.stop)
        subscription, self._subscription = self._subscription, None
        if subscription is not None and os.getpid() == self._process:  # a forked child has none
            subscription.close()

    def _called(self, domain: int, call: int, over: bool) -> None:
        api = self._apis.get((domain, call))
        if api is None:
            return
        open_calls: list[tuple[str, int]] = self._under_way.__dict__.setdefault("calls", [])
        if not over:
            open_calls.append((api, self._clock()))
        elif open_calls:  # else it had begun before we listened
            _, begin = open_calls.pop()
            if not open_calls:
                # Two frames up: CUPTI's bindings have none, and `Subscription._called` is ours.
                self._waited(api, sys._getframe(1).f_back, begin, self._clock())
