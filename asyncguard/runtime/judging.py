"""What a hook asks and reports: whether a call waits, who is charged for it, and when it is over.

Whatever fails in here is logged once and switches the hook off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple

from asyncguard.runtime import reads
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.copies import FRESH
from asyncguard.runtime.faults import SyncLimitExceeded
from asyncguard.runtime.hub import Composite, Doing, hub
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


class Call(NamedTuple):
    """A call of which only its result shows whether it waited."""

    sink: Sink
    blocker: Blocker | None  # where that was clear before
    candidates: list[Probe]
    began: Any
    charged: tuple[Site, int] | None = None  # where a limit had to be asked before the call

    def blocker_of(self, args: Args, kwargs: Kwargs, result: Any) -> Blocker | None:
        """What it has waited for, its result being known; None: for nothing."""
        blocker = self.blocker
        for probe in self.candidates:
            blocker = blocker or probe.after(args, kwargs, result)
        return blocker


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
        if hub.generation == self._broken_in:
            return None
        try:
            blocker = self._judge(args, kwargs)
            if blocker is None:
                return None
            above = _getframe(2)
            frame = self._caller(above)
            charged = self._charged(blocker, doing, args, kwargs, frame)
            if charged is None:
                return None
            site, times = charged
            fresh = self._fresh.through if _is_hook(above) else self._fresh.hook
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

    def enter(self, doing: Doing, args: Args, kwargs: Kwargs) -> Composite | None:
        """As `begin`, for a function of Python's: the reads inside are told to what it returns."""
        if hub.generation == self._broken_in:
            return None
        try:
            blocker = self._judge(args, kwargs)
            if blocker is None:
                return None
            frame = self._caller(_getframe(2))
            charged = self._charged(blocker, doing, args, kwargs, frame)
            return None if charged is None else Composite(hub.sink, *charged)
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001
            self._failed(error)
            return None

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
            return Call(sink, blocker, candidates, sink.begin())
        except Exception as error:  # noqa: BLE001
            self._failed(error)
            return None

    def spend(self, call: Call, doing: Doing, args: Args, kwargs: Kwargs) -> Call:
        """Ask the limits before data moves, where the arguments tell that they will.

        Raises SyncLimitExceeded.
        """
        charged = None
        try:
            blocker = call.blocker
            for probe in call.candidates:
                blocker = blocker or probe.foresee(args, kwargs)
            if blocker is not None:
                frame = self._caller(_getframe(2))
                charged = self._charged(blocker, doing, args, kwargs, frame)
        except SyncLimitExceeded:
            self.cancel(call.sink, call.began)
            raise
        except Exception as error:  # noqa: BLE001
            self._failed(error)
        return call._replace(charged=charged)

    def judge_result(
        self, call: Call, doing: Doing, args: Args, kwargs: Kwargs, result: Any
    ) -> None:
        """Report the call if it has waited."""
        charged = call.charged
        try:
            blocker = None if charged else call.blocker_of(args, kwargs, result)
            if blocker is not None:
                frame = self._caller(_getframe(2))
                charged = self._charged(blocker, doing, args, kwargs, frame)
            if charged is not None:
                hub.end(call.sink, charged[0], call.began, charged[1])
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001
            self._failed(error)
        finally:
            if charged is None:
                self.cancel(call.sink, call.began)

    def judge_part(
        self, composite: Composite, call: Call, args: Args, kwargs: Kwargs, result: Any
    ) -> None:
        """Add the call to the composite one that it is inside of, if it has waited."""
        try:
            blocker = call.blocker_of(args, kwargs, result)
            if blocker is not None and composite.holds(blocker) and _times(blocker, args, kwargs):
                composite.add(call.began)
            else:
                self.cancel(call.sink, call.began)
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def cancel(self, sink: Sink, began: Any) -> None:
        """Report that a call has raised, or has not waited."""
        try:
            sink.cancel(began)
        except Exception as error:  # noqa: BLE001
            self._failed(error)

    def _charged(
        self, blocker: Blocker, doing: Doing, args: Args, kwargs: Kwargs, frame: FrameType | None
    ) -> tuple[Site, int] | None:
        """The site to charge for a call, and how often that waits; None where it does not."""
        if blocker.stand_in and self._is_on_host(doing, args, frame):
            return None
        site = blocker.site(frame)
        if site is None:
            return None
        times = _times(blocker, args, kwargs)
        return (hub.allow(site, times), times) if times else None

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
