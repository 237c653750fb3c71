"""What calls of blocking APIs pass through while somebody listens.

The API itself stays the object that it is (see `takeover`). A hook asks its `Probe`s whether this
call is a sync point, looks up the site, times the original and reports. Inside a sync point
(`doing.waiting`) everything passes straight through, so that a `print` which calls `tolist` counts
once. Whatever fails in here is logged once and switches the hook off; the original is always
called, and its exceptions leave without a trace of us.

A hook is one frame around the original; what it does before and after is a `_Watch`'s.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple

from asyncguard.runtime import reads
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.copies import FRESH
from asyncguard.runtime.faults import SyncLimitExceeded, forget_this_frame
from asyncguard.runtime.hub import Doing, Sink, hub, state
from asyncguard.runtime.indexing import is_plain
from asyncguard.runtime.probes import Args, Kwargs, Probe
from asyncguard.runtime.sites import Blocker, Site
from asyncguard.runtime.sizes import NUMBERS, are_plain
from asyncguard.runtime.takeover import Function

__warningregistry__ = None  # see `warned`
_getframe, getrefcount = sys._getframe, sys.getrefcount
_GLOBALS = globals()
Judge = Callable[[Args, Kwargs], "Blocker | None"]


def make(
    original: Function, name: str, adapter: Adapter, probes: Sequence[Probe], up: int
) -> Function:
    """What calls `original` and reports its waits.

    `name` is for the log; `up` says how many frames the caller is above the outermost hook.
    """
    watch = _Watch(name, adapter, probes, up)
    if watch.late:
        hook = _late_hook(original, watch)
    else:
        hook = _hook(original, watch)
        if len(probes) == 1 and probes[0].quick is not None:
            hook = reads.read_hook(original, name, probes[0].quick, hook, adapter, up)
    if name.endswith(".__getitem__"):
        hook = _subscript_hook(original, hook)
    if len(probes) == 1 and (first := probes[0].numbers_from) is not None:
        hook = _number_hook(original, hook, first, NUMBERS | adapter.plain)
    return hook


def _judge_of(probes: Sequence[Probe]) -> Judge:
    """Ask the probes that can tell before the call, in their order."""
    judges = [probe.before for probe in probes if not probe.late]
    if len(judges) == 1:
        return judges[0]

    def judge(args: Args, kwargs: Kwargs) -> Blocker | None:
        for ask in judges:
            blocker = ask(args, kwargs)
            if blocker is not None:
                return blocker
        return None

    return judge


# A wait under way: who is told, where it is, how often the call waits, the caller, how many
# references to a value nothing but the call holds, and when it began.
_Wait = tuple[Sink, Site, int, FrameType | None, int, Any]


class _Call(NamedTuple):
    """A call of which only its result shows whether it waited."""

    sink: Sink
    blocker: Blocker | None  # where that was clear before
    candidates: list[Probe]
    began: Any


class _Watch:
    """Judges the calls of one hook, before and after the original.

    `up` says how many frames the caller is above the outermost hook.
    """

    def __init__(self, name: str, adapter: Adapter, probes: Sequence[Probe], up: int) -> None:
        self.late = [probe for probe in probes if probe.late]
        self._name = name
        self._copies = adapter.copies
        self._judge = _judge_of(probes)
        self._up = up
        self._fresh = FRESH[up]
        self._broken_in = 0  # the generation of listeners in which it failed

    def begin(self, doing: Doing, args: Args, kwargs: Kwargs) -> _Wait | None:
        """Ask whether the call waits; called by the hook itself."""
        if hub.generation == self._broken_in:
            return None
        try:
            blocker = self._judge(args, kwargs)
            if blocker is None:
                return None
            above = _getframe(2)
            through = _is_hook(above)
            frame = self._caller(above)
            if blocker.stand_in and self._is_on_host(doing, args, frame):
                return None
            site = blocker.site(frame)
            if site is None:
                return None
            times = blocker.times(args, kwargs) if blocker.times is not None else 1
            if not times:
                return None
            site = hub.allow(site, times)
            fresh = self._fresh.through if through else self._fresh.hook
            sink = hub.sink
            return sink, site, times, frame, fresh, sink.begin()
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001  the user's call must go on
            self._failed(error)
            return None

    def end(self, wait: _Wait, value: Any, references: int) -> None:
        """Report the wait; of a value that the call gave back itself, how often it is held."""
        sink, site, times, frame, fresh, began = wait
        try:
            hub.end(sink, site, began, times)
            if references and site.blocker.stand_in:
                self._copies.add(value, frame, references - fresh)
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def ask(self, args: Args, kwargs: Kwargs) -> _Call | None:
        """Ask whether the call may wait."""
        if hub.generation == self._broken_in:
            return None
        try:
            candidates = [probe for probe in self.late if probe.applies(args, kwargs)]
            blocker = self._judge(args, kwargs)
            if blocker is None and not candidates:
                return None
            return _Call(hub.sink, blocker, candidates, hub.sink.begin())
        except Exception as error:  # noqa: BLE001
            self._failed(error)
            return None

    def judge_result(
        self, call: _Call, doing: Doing, args: Args, kwargs: Kwargs, result: Any
    ) -> None:
        """Report the call if it has waited."""
        try:
            blocker = call.blocker
            for probe in call.candidates:
                blocker = blocker or probe.after(args, kwargs, result)
            if blocker is None:
                return
            frame = self._caller(_getframe(2))
            if blocker.stand_in and self._is_on_host(doing, args, frame):
                return
            site = blocker.site(frame)
            if site is None:
                return
            times = blocker.times(args, kwargs) if blocker.times is not None else 1
            if times:
                site = hub.allow(site, times)
                hub.end(call.sink, site, call.began, times)
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._broken_in = hub.generation
        hub.fail(self._name, error)

    def _caller(self, above: FrameType) -> FrameType | None:
        """Who called the outermost hook, where another one or a detour may stand in front."""
        frame = above.f_back if _is_hook(above) else above
        if self._up > 1 and frame is not None:
            frame = frame.f_back
        return frame

    def _is_on_host(self, doing: Doing, args: Args, frame: FrameType | None) -> bool:
        """Whether a CPU value in a device value's stead would be on the host all the same."""
        copies = self._copies
        return doing.loading or bool(copies.known and args and copies.holds(args[0], frame))


def _is_hook(frame: FrameType) -> bool:
    names = frame.f_globals
    return names is _GLOBALS or names is reads.GLOBALS


def _hook(original: Function, watch: _Watch) -> Function:
    """For calls of which it is known before they start what they wait for."""

    def hook(*args: Any, **kwargs: Any) -> Any:
        try:
            doing = state.doing
            if not hub.generation or doing.waiting:
                return original(*args, **kwargs)
            wait = watch.begin(doing, args, kwargs)
            if wait is None:
                return original(*args, **kwargs)
            doing.waiting = True
            try:
                result = original(*args, **kwargs)
            finally:
                doing.waiting = False
            # Asked for here, where as many references are the call's as `FRESH` says.
            references = getrefcount(result) if args and result is args[0] else 0
            watch.end(wait, result, references)
            return result
        except BaseException as error:
            forget_this_frame(error)
            raise

    return hook


def _late_hook(original: Function, watch: _Watch) -> Function:
    """For calls whose result shows whether they waited (`x.to(device)`): judged afterwards."""

    def hook(*args: Any, **kwargs: Any) -> Any:
        try:
            doing = state.doing
            if not hub.generation or doing.waiting:
                return original(*args, **kwargs)
            call = watch.ask(args, kwargs)
            if call is None:
                return original(*args, **kwargs)
            doing.waiting = True
            try:
                result = original(*args, **kwargs)
                watch.judge_result(call, doing, args, kwargs, result)
            finally:
                doing.waiting = False
            return result
        except BaseException as error:
            forget_this_frame(error)
            raise

    return hook


def _subscript_hook(original: Function, hook: Function) -> Function:
    """In front of another hook: programs index often, and plain indices never wait."""

    def getitem(self: Any, index: Any) -> Any:
        try:
            return original(self, index) if is_plain(index) else hook(self, index)
        except BaseException as error:
            forget_this_frame(error)
            raise

    return getitem


def _number_hook(
    original: Function, hook: Function, first: int, plain: frozenset[type]
) -> Function:
    """In front of another hook: programs give sizes often, and plain ones never wait."""
    known = plain.issuperset

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = args[first:]
            if not (
                (known(map(type, given)) or are_plain(given, plain))
                and (
                    not kwargs
                    or known(map(type, kwargs.values()))
                    or are_plain(kwargs.values(), plain)
                )
            ):
                return hook(*args, **kwargs)
            return original(*args, **kwargs)
        except BaseException as error:
            forget_this_frame(error)
            raise

    return call
