"""What a hook asks and reports: whether a call waits, who is charged for it, and when it is over.

Whatever fails in here is logged once and switches the hook off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, TypeVar

from asyncguard.runtime import reads
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.copies import FRESH
from asyncguard.runtime.faults import SyncLimitExceeded
from asyncguard.runtime.hub import Collector, Composite, Doing, hub
from asyncguard.runtime.probes import Args, Kwargs, Probe
from asyncguard.runtime.sinks import Sink
from asyncguard.runtime.sites import Blocker, Site

_getframe = sys._getframe
HOOKS = [reads.GLOBALS]  # the names of the modules whose functions stand in front of an original
Judge = Callable[[Args, Kwargs], "Blocker | None"]


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
Charged = tuple[Site, int]  # a site, and how often a call waits there
Part = tuple[Site, int, Any]  # the same of a read inside a call, and what the sink said to it
T = TypeVar("T")
Start = Callable[[Charged, FrameType, "FrameType | None"], T]


class Call:
    """A call of which only its result shows whether it waited.

    The reads inside are parts of its wait; where it has waited for nothing, waits of their own.
    """

    __slots__ = ("_candidates", "began", "blocker", "charged", "parts", "sink")

    def __init__(self, sink: Sink, blocker: Blocker | None, candidates: list[Probe]) -> None:
        self.sink = sink
        self.blocker = blocker  # where that was clear before
        self.charged: Charged | None = None  # where a limit had to be asked before the call
        self.parts: list[Part] = []
        self._candidates = candidates
        self.began = sink.begin()

    @property
    def around(self) -> Call | None:
        """Itself, where reads inside may be waits of their own."""
        return self if self.blocker is None and self.charged is None else None

    def foreseen(self, args: Args, kwargs: Kwargs) -> Blocker | None:
        """What it will wait for, as far as its arguments tell."""
        return self._first(probe.foresee(args, kwargs) for probe in self._candidates)

    def blocker_of(self, args: Args, kwargs: Kwargs, result: Any) -> Blocker | None:
        """What it has waited for, its result being known; None: for nothing."""
        return self._first(probe.after(args, kwargs, result) for probe in self._candidates)

    def _first(self, found: Iterator[Blocker | None]) -> Blocker | None:
        return self.blocker or next(filter(None, found), None)

    def add(self, began: Any, site: Site, times: int) -> None:
        """A read inside is over."""
        self.parts.append((site, times, self.sink.part(site, began)))

    def end(self, site: Site, times: int) -> None:
        """Report that it has waited."""
        hub.end(self.sink, site, self.began, times, [part for _, _, part in self.parts])


def _times(blocker: Blocker, args: Args, kwargs: Kwargs) -> int:
    """How often a call waits."""
    return 1 if blocker.times is None else blocker.times(args, kwargs)


class Watch:
    """Judges the calls of one hook, before and after the original.

    `up` says how many frames the caller is above the outermost hook.
    """

    def __init__(self, name: str, adapter: Adapter, probes: Sequence[Probe], up: int) -> None:
        self.late = [probe for probe in probes if probe.late]
        self._name = name
        self._copies = adapter.copies
        self._judge = _judge_of(probes)
        self._up = up
        self.is_python = up > 1
        self._fresh = FRESH[up]
        self._broken_in = 0  # the generation of listeners in which it failed

    def begin(self, doing: Doing, args: Args, kwargs: Kwargs) -> _Wait | None:
        """Ask whether the call waits; called by the hook itself."""
        return self._before(self._wait, doing, args, kwargs)

    def enter(self, doing: Doing, args: Args, kwargs: Kwargs) -> Composite | None:
        """As `begin`, for a function of Python's: the reads inside are told to what it returns."""
        return self._before(lambda at, *_: Composite(hub.sink, *at), doing, args, kwargs)

    def _before(self, start: Start[T], doing: Doing, args: Args, kwargs: Kwargs) -> T | None:
        """What `start` makes of a call that waits; called by what the hook itself calls."""
        if hub.generation == self._broken_in:
            return None
        try:
            blocker = self._judge(args, kwargs)
            if blocker is None:
                return None
            above = _getframe(3)
            frame = self._caller(above)
            charged = self._charged(blocker, doing, args, kwargs, frame)
            return None if charged is None else start(charged, above, frame)
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001  the user's call must go on
            self._failed(error)
            return None

    def _wait(self, charged: Charged, above: FrameType, frame: FrameType | None) -> _Wait:
        fresh = self._fresh.through if _is_hook(above) else self._fresh.hook
        sink = hub.sink
        return sink, *charged, frame, fresh, sink.begin()

    def end(self, wait: _Wait, value: Any, references: int) -> None:
        """Report the wait; of a value that the call gave back itself, how often it is held."""
        sink, site, times, frame, fresh, began = wait
        try:
            hub.end(sink, site, began, times)
            if references and site.blocker.stand_in:
                self._copies.add(value, frame, references - fresh)
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def leave(self, composite: Composite) -> None:
        """Report what the reads inside a function of Python's have waited."""
        try:
            composite.leave()
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def ask(self, sink: Sink, args: Args, kwargs: Kwargs) -> Call | None:
        """Ask whether the call may wait."""
        if hub.generation == self._broken_in:
            return None
        try:
            candidates = [probe for probe in self.late if probe.applies(args, kwargs)]
            blocker = self._judge(args, kwargs)
            if blocker is None and not candidates:
                return None
            return Call(sink, blocker, candidates)
        except Exception as error:  # noqa: BLE001
            self._failed(error)
            return None

    def spend(self, call: Call, doing: Doing, args: Args, kwargs: Kwargs, above: FrameType) -> None:
        """Ask the limits before data moves, where the arguments tell that they will.

        `above` is the frame that called the hook. Raises SyncLimitExceeded.
        """
        try:
            blocker = call.foreseen(args, kwargs)
            if blocker is not None:
                call.charged = self._charged(blocker, doing, args, kwargs, self._caller(above))
        except SyncLimitExceeded:
            self.cancel(call.sink, call.began)
            raise
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def end_late(
        self,
        call: Call,
        within: Collector | None,
        doing: Doing,
        args: Args,
        kwargs: Kwargs,
        result: Any,
        above: FrameType,
    ) -> None:
        """Report the call if it has waited, to the one that it is inside of where there is one.

        `above` is the frame that called the hook. Raises SyncLimitExceeded.
        """
        charged = None
        try:
            charged = call.charged
            if charged is None and (blocker := call.blocker_of(args, kwargs, result)):
                if isinstance(within, Composite):
                    charged = within.charged(blocker, _times(blocker, args, kwargs))
                else:
                    frame = self._caller(above)
                    charged = self._charged(blocker, doing, args, kwargs, frame, call.parts)
            if charged is not None:
                call.end(*charged) if within is None else within.add(call.began, *charged)
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001
            self._failed(error)
        finally:
            if charged is None:
                self.cancel(call.sink, call.began, call.parts)

    def cancel(self, sink: Sink, began: Any, parts: Sequence[Part] = ()) -> None:
        """Report that a call has raised, or has not waited: reads inside are waits of their own."""
        try:
            for site, times, part in parts:
                hub.apart(sink, site, part, times)
            sink.cancel(began)
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def _charged(
        self,
        blocker: Blocker,
        doing: Doing,
        args: Args,
        kwargs: Kwargs,
        frame: FrameType | None,
        parts: Sequence[Part] = (),
    ) -> Charged | None:
        """The site to charge for a call, and how often that waits; None where it does not.

        Where `parts` have been charged, it is not charged again.
        """
        if blocker.stand_in and self._is_on_host(doing, args, frame):
            return None
        site = blocker.site(frame)
        if site is None:
            return None
        times = _times(blocker, args, kwargs)
        if not times:
            return None
        if parts:
            reason = parts[0][0].reason
            return site if reason is None else site.allowed(reason), times
        return hub.allow(site, times), times

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
    for each in HOOKS:  # noqa: SIM110  `any` would make a generator
        if names is each:
            return True
    return False
