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
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from asyncguard.model import AsyncguardError
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.hub import BATCH, hub, running_tasks, state
from asyncguard.runtime.indexing import is_plain
from asyncguard.runtime.probes import Args, Kwargs, Probe, QuickJudge
from asyncguard.runtime.sites import Blocker
from asyncguard.runtime.steps import compiled_steps

__warningregistry__ = None  # see `warned`
_getframe = sys._getframe
_GLOBALS = globals()
_HERE = os.path.dirname(__file__)
_NOWHERE: tuple[Any, ...] = (None, None, None, None)  # code, f_lasti, blocker, site
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
        hook = _late_hook(original, name, judge, late, up)
    else:
        hook = _hook(original, name, judge, adapter, up)
        if len(probes) == 1 and probes[0].quick is not None:
            hook = _read_hook(original, name, probes[0].quick, hook, adapter.data_of, up)
    if name.endswith(".__getitem__"):
        hook = _subscript_hook(original, hook)
    return hook


def _caller(up: int) -> FrameType:
    """Who called the hook, from within it: another hook may stand in front of it."""
    return _getframe(up + 2 if _getframe(2).f_globals is _GLOBALS else up + 1)


def _first_of(judges: Sequence[Judge]) -> Judge:
    def judge(args: Args, kwargs: Kwargs) -> Blocker | None:
        for ask in judges:
            blocker = ask(args, kwargs)
            if blocker is not None:
                return blocker
        return None

    return judge


def _hook(original: Function, name: str, judge: Judge, adapter: Adapter, up: int) -> Function:
    """The hot path: what the call waits for is known before it starts."""
    data_of = adapter.data_of
    broken_in = 0  # the generation of listeners in which it failed

    def hook(*args: Any, **kwargs: Any) -> Any:
        nonlocal broken_in
        inside = False
        site = None
        doing = state.doing
        generation = hub.generation
        try:
            if generation and not doing.waiting and generation != broken_in:
                try:
                    blocker = judge(args, kwargs)
                    if blocker is not None:
                        frame = _getframe(1)
                        if frame.f_globals is _GLOBALS:  # another hook stands in front
                            frame = _getframe(up + 1)
                        elif up > 1:
                            frame = _getframe(up)
                        if doing.fetched is not None:
                            fetched, doing.fetched = doing.fetched, None
                            if blocker.stand_in and fetched == _fetched(frame, data_of(args[0])):
                                return original(*args, **kwargs)
                        try:
                            site = blocker.cache[id(frame.f_code), frame.f_lasti]
                        except KeyError:
                            site = blocker.site(frame)
                        if site is not None:
                            if hub.scope is not None:
                                site = hub.scope(site)
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
                    if args and result is args[0] and site.blocker.stand_in:
                        doing.fetched = _fetched(frame, data_of(result))
                except Exception as error:  # noqa: BLE001
                    broken_in = generation
                    hub.fail(name, error)
            if inside:
                doing.waiting = False
            return result
        except BaseException as error:
            if inside:
                doing.waiting = False
            _forget_this_frame(error)
            raise

    return hook


def _read_hook(
    original: Function,
    name: str,
    quick: QuickJudge,
    hook: Function,
    data_of: Function,
    up: int,
) -> Function:
    """In front of another hook: the commonest wait, `value.item()`, known and seen before.

    One listener, no limit, no task of asyncio, no argument, a plain value, a line that waited
    before; all else goes the long way. What runs once a step finds no cache warm, and each object
    that is looked at counts: so the wait is only noted down, for the listener to look at later.
    """
    last = _NOWHERE

    def read(self: Any, /, *rest: Any, **named: Any) -> Any:
        nonlocal last
        site = None
        try:
            try:
                doing = state.doing
                sink = hub.alone
                if (
                    sink is not None
                    and doing.log_of is sink.key
                    and not doing.waiting
                    and doing.fetched is None
                    and not rest
                    and not named
                    and not running_tasks
                ):
                    code, instruction, blocker, site = last
                    frame = _getframe(up)
                    if (
                        frame.f_code is not code
                        or frame.f_lasti != instruction
                        or quick(self) is not blocker
                    ):
                        last = _, _, blocker, site = _seen(quick(self), frame)
                    clock = sink.begin
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
                log = doing.log
                log.append((site, began, clock(), sink.step))  # type: ignore[union-attr]
                if len(log) >= BATCH:
                    sink.settle()  # type: ignore[union-attr]
                if result is self and blocker.stand_in:
                    doing.fetched = _fetched(frame, data_of(result))
            except Exception as error:  # noqa: BLE001
                hub.fail(name, error)
            return result
        except BaseException as error:
            _forget_this_frame(error)
            raise

    return read


def _seen(blocker: Blocker | None, frame: FrameType) -> tuple[Any, ...]:
    """The call's place, its blocker and its site, where that is settled."""
    site = blocker and blocker.cache.get((id(frame.f_code), frame.f_lasti))
    return (frame.f_code, frame.f_lasti, blocker, site) if site else _NOWHERE


def _fetched(frame: FrameType | None, data: int | None) -> tuple[Any, ...] | None:
    """`x.cpu()` on the stand-in gives `x` itself: reading that on the same line is no second wait.

    On a device it would read the copy, which is on the host.
    """
    if frame is None or data is None:
        return None
    return id(frame.f_code), frame.f_lineno, data


def _late_hook(
    original: Function, name: str, judge: Judge, late: Sequence[Probe], up: int
) -> Function:
    """For calls whose result shows whether they waited (`x.to(device)`): judged afterwards."""
    broken_in = 0  # the generation of listeners in which it failed

    def hook(*args: Any, **kwargs: Any) -> Any:
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
                    site = blocker.site(_caller(up)) if blocker is not None else None
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
            _forget_this_frame(error)
            raise

    return hook


def _subscript_hook(original: Function, hook: Function) -> Function:
    """In front of another hook: programs index often, and plain indices never wait."""

    def getitem(self: Any, index: Any) -> Any:
        try:
            return original(self, index) if is_plain(index) else hook(self, index)
        except BaseException as error:
            _forget_this_frame(error)
            raise

    return getitem


def step_hook(original: Function, name: str, adapter: Adapter, owner: Any) -> Function:
    """What calls `original`, which ends a step, such as an optimizer's `update`.

    `owner` is the module, or the class for whose instances alone that holds; `name` for the log.
    """
    kind = owner if isinstance(owner, type) else object

    def hook(*args: Any, **kwargs: Any) -> Any:
        doing = state.doing
        outermost = not doing.stepping and (not args or isinstance(args[0], kind))
        doing.stepping = doing.stepping or outermost
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            _forget_this_frame(error)
            raise
        finally:
            if outermost:
                doing.stepping = False
        if outermost:
            try:
                if not adapter.is_tracing():
                    hub.mark(adapter.step_of(args[0] if args else None))
                elif doing.compiled is not None:
                    compiled_steps.add(doing.compiled)
            except Exception as error:  # noqa: BLE001  the user's training must go on
                hub.fail(name, error)
        return result

    return hook


def compiled_hook(original: Function, owner: Any) -> Function:
    """What calls `original`, the call of compiled functions, which may be whole training steps.

    What ends a step is then called only while the function is traced: that is remembered of it.
    """
    kind = owner if isinstance(owner, type) else object

    def hook(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        doing = state.doing
        outermost = doing.compiled is None and isinstance(self, kind)
        if outermost:
            doing.compiled = self
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _forget_this_frame(error)
            raise
        finally:
            if outermost:
                doing.compiled = None
        if outermost and self in compiled_steps:
            hub.mark(self)
        return result

    return hook


def _forget_this_frame(error: BaseException) -> None:
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
