"""The dispatch mode of a full trace: sees every operator that torch runs in a thread."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch

from asyncguard.catalogue import SyncPoint
from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.faults import SyncLimitExceeded
from asyncguard.runtime.hub import hub, state
from asyncguard.runtime.sites import Blocker, Site

__all__ = ["Operators", "is_mask"]

__warningregistry__ = None  # see `warned`
_MASKS = (torch.bool, torch.uint8)


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

    @classmethod
    def is_infra_mode(cls) -> bool:
        """It only looks on: torch.compile need not give way to it, in the trace and after it."""
        return True

    def leave(self) -> None:
        """Leave this thread's stack; in another thread, or below another mode, only go quiet."""
        if private.current_dispatch_mode() is self:
            self.__exit__(None, None, None)
        self._points.clear()
        self._known.clear()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        try:
            point = self._known[func]
        except KeyError:
            point = self._known[func] = self.point(func)
        if point is None or state.doing.waiting or hub.generation == self._broken_in:
            return func(*args, **kwargs) if kwargs else func(*args)
        return self.watched(point, sys._getframe(1), func, args, kwargs or {})

    def watched(
        self, point: SyncPoint, caller: FrameType | None, func: Any, args: Any, kwargs: Any
    ) -> Any:
        """Run an operator that may wait, and report it if it does."""
        doing, site = state.doing, None
        try:
            site = self._site(point, args, caller)
            if site is not None:
                site = hub.allow(site, point.times)
            sink = hub.sink
            began = sink.begin()
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001  the user's call must go on
            self._fail(error)
            site = None
        doing.waiting = site is not None
        try:
            result = func(*args, **kwargs)
        finally:
            doing.waiting = False
        if site is not None:
            try:
                hub.end(sink, site, began, point.times)
            except Exception as error:  # noqa: BLE001
                self._fail(error)
        return result

    def _fail(self, error: Exception) -> None:
        self._broken_in = hub.generation
        hub.fail("torch's operators", error)

    def point(self, func: Any) -> SyncPoint | None:
        """The entry of an operator that may wait."""
        name, overload = private.name_of(func)
        return self._points.get(f"{name}.{overload}") or self._points.get(name)

    def _site(
        self, point: SyncPoint, args: tuple[Any, ...], caller: FrameType | None
    ) -> Site | None:
        tensor = next((arg for arg in args if isinstance(arg, torch.Tensor)), None)
        device = self._adapter.device_of(tensor)
        if device is None or not _waits(args):
            return None
        key = point.id, device
        blocker = self._blockers.get(key)
        if blocker is None:
            blocker = self._blockers[key] = self._adapter.blocker(point, device)
        asker = _caller(caller)
        if blocker.stand_in and (state.doing.loading or self._adapter.copies.holds(tensor, asker)):
            return None
        return blocker.site(asker)


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
