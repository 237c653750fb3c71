"""What calls of blocking APIs pass through while somebody listens.

The API itself stays the object that it is (see `takeover`). A hook asks its `Probe`s whether this
call is a sync point, looks up the site, times the original and reports. Inside a sync point
(`doing.waiting`) everything passes straight through, so that a `print` which calls `tolist` counts
once. Whatever fails in here is logged once and switches the hook off; the original is always
called, and its exceptions leave without a trace of us.

The hooks repeat each other and inline what could be functions: they run at every read.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from asyncguard.model import AsyncguardError
from asyncguard.runtime.adapter import Adapter, Quick
from asyncguard.runtime.callers import NEAREST
from asyncguard.runtime.copies import FRESH, Copies
from asyncguard.runtime.hub import Doing, hub, running_tasks, state
from asyncguard.runtime.indexing import is_plain
from asyncguard.runtime.probes import Args, Kwargs, Probe
from asyncguard.runtime.sites import Blocker, Site
from asyncguard.runtime.sizes import NUMBERS, are_plain

__warningregistry__ = None  # see `warned`
_getframe, getrefcount, get_ident = sys._getframe, sys.getrefcount, threading.get_ident
_GLOBALS = globals()
_HERE = os.path.dirname(__file__)
# What a read compares: instruction, code, stands in?, blocker, site, the way that led there, and
# the instruction and code of each of the nearest callers.
_NOWHERE: tuple[Any, ...] = (None,) * (6 + 2 * NEAREST)
Function = Callable[..., Any]
Judge = Callable[[Args, Kwargs], "Blocker | None"]


class SyncLimitExceeded(AsyncguardError):  # noqa: N818  reads as what happened
    """A wait where a limit allows none; the message names the line and the advice."""


def make(
    original: Function, name: str, adapter: Adapter, probes: Sequence[Probe], up: int
) -> Function:
    """What calls `original` and reports its waits.

    `name` is for the log; `up` says how many frames the caller is above the outermost hook.
    """
    early = [probe.before for probe in probes if not probe.late]
    late = [probe for probe in probes if probe.late]
    judge = early[0] if len(early) == 1 else _first_of(early)
    if late:
        hook = _late_hook(original, name, judge, late, adapter.copies, up)
    else:
        hook = _hook(original, name, judge, adapter, up)
        if len(probes) == 1 and probes[0].quick is not None:
            hook = _read_hook(original, name, probes[0].quick, hook, adapter.copies, up)
    if name.endswith(".__getitem__"):
        hook = _subscript_hook(original, hook)
    if len(probes) == 1 and (first := probes[0].numbers_from) is not None:
        hook = _number_hook(original, hook, first, NUMBERS | adapter.plain)
    return hook


def _caller(up: int) -> FrameType | None:
    """Who called the hook, from within it: another hook may stand in front of it."""
    above = _getframe(2)
    frame = above.f_back if above.f_globals is _GLOBALS else above
    return frame.f_back if up > 1 and frame is not None else frame


def _first_of(judges: Sequence[Judge]) -> Judge:
    def judge(args: Args, kwargs: Kwargs) -> Blocker | None:
        for ask in judges:
            blocker = ask(args, kwargs)
            if blocker is not None:
                return blocker
        return None

    return judge


def _hook(original: Function, name: str, judge: Judge, adapter: Adapter, up: int) -> Function:  # noqa: C901 - its one inner function
    """The hot path: what the call waits for is known before it starts."""
    copies, fresh = adapter.copies, FRESH[up]
    broken_in = 0  # the generation of listeners in which it failed

    def hook(*args: Any, **kwargs: Any) -> Any:  # noqa: C901 - in one frame: each call of another would cost as much as the rest
        nonlocal broken_in
        inside = False
        site = None
        more = 0  # waits of this call beyond the first
        doing = state.doing
        generation = hub.generation
        try:
            if generation and not doing.waiting and generation != broken_in:
                try:
                    blocker = judge(args, kwargs)
                    if blocker is not None:
                        above = _getframe(1)
                        through = above.f_globals is _GLOBALS  # another hook stands in front
                        frame = above.f_back if through else above
                        if up > 1 and frame is not None:
                            frame = frame.f_back
                        if blocker.stand_in and _is_on_host(doing, copies, args, frame):
                            return original(*args, **kwargs)
                        try:
                            site = blocker.cache[id(frame.f_code), frame.f_lasti]  # type: ignore[union-attr]
                            if site is not None and not site.way.leads_to(frame):  # type: ignore[union-attr,arg-type]
                                site = blocker.site(frame)
                        except (KeyError, AttributeError):
                            site = blocker.site(frame)
                        if site is not None:
                            if blocker.times is not None:
                                more = blocker.times(args, kwargs) - 1
                            if hub.scope is not None:
                                site = _allowed(site, more)
                            sink = hub.sink
                            doing.waiting = inside = True
                            began = sink.begin()
                except SyncLimitExceeded:
                    raise
                except Exception as error:  # noqa: BLE001  the user's call must go on
                    broken_in, site = generation, None
                    hub.fail(name, error)
            result = original(*args, **kwargs)
            if site is not None:
                try:
                    sink.end(site, began)
                    for _ in range(more):
                        sink.end(site, sink.begin())
                    if args and result is args[0] and site.blocker.stand_in:
                        expected = fresh.through if through else fresh.hook
                        held = getrefcount(result) - expected
                        copies.add(result, frame, held)
                except Exception as error:  # noqa: BLE001
                    broken_in = generation
                    hub.fail(name, error)
            if inside:
                doing.waiting = False
            return result
        except BaseException as error:
            if inside:
                doing.waiting = False
            forget_this_frame(error)
            raise

    return hook


def _allowed(site: Site, more: int) -> Site:
    """Ask whoever limits waits, for each wait of the call."""
    allowed = site
    for _ in range(more + 1):
        if hub.scope is not None:
            allowed = hub.scope(site)
    return allowed


def _read_hook(
    original: Function, name: str, quick: Quick, hook: Function, copies: Copies, up: int
) -> Function:
    """In front of another hook: the commonest wait, `value.item()`, known and seen before.

    One listener, no limit, its first thread, no task of asyncio, no argument, a plain value, a line
    that waited before; all else goes the long way. What runs once a step finds no cache warm, and
    each object that is looked at counts: so everything is compared in one expression, and the wait
    is only noted down, for the listener to look at later.
    """
    last = _NOWHERE
    known, fresh = copies.known, FRESH[up].read
    kind, taken, on_host, judge = quick

    def read(self: Any, /, *rest: Any, **named: Any) -> Any:
        nonlocal last
        site = None
        try:
            try:
                beat = hub.alone
                if not (
                    beat is None
                    or get_ident() != beat.thread
                    or (doing := beat.doing).waiting
                    or known
                    or rest
                    or named
                    or running_tasks
                ):
                    frame = _getframe(up)
                    at, code, stands_in, blocker, site, way, at1, code1, at2, code2, at3, code3 = (
                        last
                    )
                    if (
                        frame.f_lasti == at
                        and frame.f_code is code
                        and (
                            (stands_in and type(self) is kind and not taken(self) and on_host(self))
                            or judge(self) is blocker
                        )
                        and (
                            code1 is None
                            or (
                                (back := frame.f_back) is not None
                                and back.f_lasti == at1
                                and back.f_code is code1
                            )
                        )
                        and (
                            code2 is None
                            or (
                                (back := back.f_back) is not None  # type: ignore[union-attr]
                                and back.f_lasti == at2
                                and back.f_code is code2
                            )
                        )
                        and (
                            code3 is None
                            or (
                                (back := back.f_back) is not None  # type: ignore[union-attr]
                                and back.f_lasti == at3
                                and back.f_code is code3
                            )
                        )
                        and way.left
                    ):
                        way.left -= 1
                    else:
                        last = _seen(judge(self), frame)
                        blocker, site = last[3:5]
                    clock = beat.clock
                    began = clock()
            except Exception as error:  # noqa: BLE001  the user's call must go on
                site = None
                hub.fail(name, error)
            if site is None:
                return hook(self, *rest, **named)
            doing.waiting = True
            try:
                result = original(self)
            finally:
                doing.waiting = False
            try:
                beat.log.append((site, began, clock(), beat.step))  # type: ignore[union-attr]
                if result is self and blocker.stand_in:
                    held = getrefcount(self) - fresh
                    copies.add(self, frame, held)
            except Exception as error:  # noqa: BLE001
                hub.fail(name, error)
            return result
        except BaseException as error:
            forget_this_frame(error)
            raise

    return read


def _seen(blocker: Blocker | None, frame: FrameType) -> tuple[Any, ...]:
    """The call's place, its blocker, its site and its callers, where that is settled."""
    site = blocker and blocker.cache.get((id(frame.f_code), frame.f_lasti))
    if not site or site.way is None or not site.way.leads_to(frame):
        return _NOWHERE
    place = frame.f_lasti, frame.f_code, site.blocker.stand_in, blocker, site, site.way
    return (*place, *site.way.flat)


def _is_on_host(doing: Doing, copies: Copies, args: Args, frame: FrameType | None) -> bool:
    """Whether a CPU value that stands in for a device value would be on the host all the same."""
    return doing.loading or bool(copies.known and args and copies.holds(args[0], frame))


def _late_hook(  # noqa: C901 - its one inner function
    original: Function, name: str, judge: Judge, late: Sequence[Probe], copies: Copies, up: int
) -> Function:
    """For calls whose result shows whether they waited (`x.to(device)`): judged afterwards."""
    broken_in = 0  # the generation of listeners in which it failed

    def hook(*args: Any, **kwargs: Any) -> Any:  # noqa: C901 - in one frame: each call of another would cost as much as the rest
        nonlocal broken_in
        inside = False
        blocker = None
        doing = state.doing
        generation = hub.generation
        try:
            if not generation or doing.waiting or generation == broken_in:
                return original(*args, **kwargs)
            try:
                candidates = [probe for probe in late if probe.applies(args, kwargs)]
                blocker = judge(args, kwargs)
                if blocker is not None or candidates:
                    sink = hub.sink
                    inside = True
                    doing.waiting = True
                    began = sink.begin()
            except Exception as error:  # noqa: BLE001
                broken_in = generation
                hub.fail(name, error)
            result = original(*args, **kwargs)
            if inside and broken_in != generation:
                try:
                    for probe in candidates:
                        if blocker is None:
                            blocker = probe.after(args, kwargs, result)
                    site = None
                    if blocker is not None:
                        frame = _caller(up)
                        if not (blocker.stand_in and _is_on_host(doing, copies, args, frame)):
                            site = blocker.site_of_caller(frame)
                    if site is not None:
                        if hub.scope is not None:
                            site = hub.scope(site)
                        sink.end(site, began)
                except SyncLimitExceeded:
                    raise
                except Exception as error:  # noqa: BLE001
                    broken_in = generation
                    hub.fail(name, error)
            if inside:
                doing.waiting = False
            return result
        except BaseException as error:
            if inside:
                doing.waiting = False
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


def forget_this_frame(error: BaseException) -> None:
    """Take the hook's own entry out of the traceback, so that it reads as without us.

    Where asyncguard itself raised (a limit), all of its entries go. Python 3.10 keeps the entry.
    """
    if isinstance(error, SyncLimitExceeded):
        error.__traceback__ = None
        return
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_HERE):
        traceback = traceback.tb_next
    error.__traceback__ = traceback
