"""The dispatch mode of a full trace: sees every operator that torch runs in a thread."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

import torch

from asyncguard.catalogue import SyncPoint
from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.faults import SyncLimitExceeded
from asyncguard.runtime.hub import Collector, Composite, hub, state
from asyncguard.runtime.sinks import Sink
from asyncguard.runtime.sites import Blocker, Site

__all__ = ["Operators", "is_mask"]

__warningregistry__ = None  # see `warned`
_MASKS = (torch.bool, torch.uint8)
_AFTERWARDS = "asyncguard_afterwards"  # no operator's argument


class Wait(NamedTuple):
    """A wait under way: what reports that it is over, or that it was none."""

    end: Callable[[], None]
    cancel: Callable[[], None]


class _Afterwards:
    """Calls `act` when nobody holds it any more."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def __del__(self) -> None:
        self._act()


class Operators(private.TorchDispatchMode):  # type: ignore[misc]
    """Counts the operators that the catalogue says wait, unless a hook above counts already."""

    def __init__(self, adapter: Adapter) -> None:
        super().__init__()
        self._adapter = adapter
        self._points = {
            name: point._replace(times=point.times_by(name))
            for point in adapter.framework.sync
            if point.runtime is not None
            for name in point.runtime.dispatch
        }
        self._known: dict[Any, SyncPoint | None] = {}  # operator -> its entry
        self._blockers: dict[tuple[str, str], Blocker] = {}
        self._broken_in = 0  # the generation of listeners in which it failed
        self._is_over = False

    @classmethod
    def is_infra_mode(cls) -> bool:
        """It only looks on: torch.compile need not give way to it, in the trace and after it."""
        return True

    def enter(self) -> None:
        """Enter this thread's stack, and leave torch's flags alone, which are of all threads."""
        private.push_mode(self)

    def leave(self) -> None:
        """Leave the stack; in another thread, or below another mode, with its next operator."""
        self._is_over = True
        self._leave_top()

    def _leave_top(self) -> None:
        if private.current_dispatch_mode() is self:
            private.pop_mode()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if self._is_over:
            kwargs = {} if kwargs is None else kwargs
            result = func(*args, **kwargs)
            # torch puts the mode back when this has returned, and then lets go of the arguments.
            kwargs[_AFTERWARDS] = _Afterwards(self._leave_top)
            return result
        try:
            point = self._known[func]
        except KeyError:
            point = self._known[func] = self.point(func)
        doing = state.doing
        if (
            point is None
            or (doing.waiting and doing.around is None)
            or hub.generation == self._broken_in
        ):
            return func(*args, **kwargs) if kwargs else func(*args)
        return self.watched(point, sys._getframe(1), func, args, kwargs or {})

    def watched(
        self, point: SyncPoint, caller: FrameType | None, func: Any, args: Any, kwargs: Any
    ) -> Any:
        """Run an operator that may wait, and report it if it does.

        Inside a composite call it is a part of that one's wait.
        """
        doing = state.doing
        around = doing.waiting, doing.around
        try:
            wait = self._begin(point, args, caller, doing.around)
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001  the user's call must go on
            self._fail(error)
            wait = None
        if wait is None:
            return func(*args, **kwargs)
        doing.waiting, doing.around = True, None
        try:
            result = func(*args, **kwargs)
        except BaseException:
            wait.cancel()
            raise
        finally:
            doing.waiting, doing.around = around
        try:
            wait.end()
        except Exception as error:  # noqa: BLE001
            self._fail(error)
        return result

    def _begin(
        self, point: SyncPoint, args: tuple[Any, ...], caller: FrameType | None,
        around: Collector | None,
    ) -> Wait | None:  # fmt: skip
        """The wait that an operator begins; None where it does not wait, or nobody is charged."""
        blocker = self._blocker(point, args)
        if blocker is None:
            return None
        if isinstance(around, Composite):
            charged = around.charged(blocker, point.times)
            return _wait(around.sink, around, charged) if charged is not None else None
        asker, tensor = _caller(caller), _first(args)
        if blocker.stand_in and (state.doing.loading or self._adapter.copies.holds(tensor, asker)):
            return None
        site = blocker.site(asker)
        if site is None:
            return None
        sink = hub.sink if around is None else around.sink
        return _wait(sink, around, (hub.allow(site, point.times), point.times))

    def _fail(self, error: Exception) -> None:
        self._broken_in = hub.generation
        hub.fail("torch's operators", error)

    def point(self, func: Any) -> SyncPoint | None:
        """The entry of an operator that may wait."""
        name, overload = private.name_of(func)
        return self._points.get(f"{name}.{overload}") or self._points.get(name)

    def _blocker(self, point: SyncPoint, args: tuple[Any, ...]) -> Blocker | None:
        """What an operator waits for; None where it does not."""
        device = self._adapter.device_of(_first(args))
        if device is None or not _waits(args):
            return None
        key = point.id, device
        blocker = self._blockers.get(key)
        if blocker is None:
            blocker = self._blockers[key] = self._adapter.blocker(point, device)
        return blocker


def _wait(sink: Sink, around: Collector | None, charged: tuple[Site, int]) -> Wait:
    """A wait that begins now, of its own or inside another call."""
    (site, times), began = charged, sink.begin()
    cancel = functools.partial(sink.cancel, began)
    if around is None:
        return Wait(functools.partial(hub.end, sink, site, began, times), cancel)
    return Wait(functools.partial(around.add, began, site, times), cancel)


def _first(args: tuple[Any, ...]) -> torch.Tensor | None:
    """The tensor that an operator is called on."""
    return next((arg for arg in args if isinstance(arg, torch.Tensor)), None)


def _caller(frame: FrameType | None) -> FrameType | None:
    """Who ran the operator, below the frames that torch puts around dispatch modes."""
    while frame is not None and frame.f_globals.get("__name__") in private.AROUND_MODES:
        frame = frame.f_back
    return frame


def _waits(args: tuple[Any, ...]) -> bool:
    """Whether an operator that takes indices has a mask among them; others always may wait."""
    indices = args[1] if len(args) > 1 else None
    if not isinstance(indices, list | tuple):
        return True
    return any(isinstance(index, torch.Tensor) and is_mask(index) for index in indices)


def is_mask(value: torch.Tensor) -> bool:
    return value.dtype in _MASKS
