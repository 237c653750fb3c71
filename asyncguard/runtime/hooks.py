"""What calls of blocking APIs pass through while somebody listens.

The API itself stays the object that it is (see `takeover`). A hook asks its `Probe`s whether this
call is a sync point, looks up the site, times the original and reports. Inside a sync point
(`doing.waiting`) everything passes straight through, so that a `print` which calls `tolist` counts
once. Whatever fails in here is logged once and switches the hook off; the original is always
called, and its exceptions leave without a trace of us.

A hook is one frame around the original; what it does before and after is a `Watch`'s.

A function of Python's may do more than wait, and what waits in it passes through hooks, too: then
the time of those reads is its stall (see `sinks`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from asyncguard.runtime import reads
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.detours import Function
from asyncguard.runtime.faults import forget_this_frame
from asyncguard.runtime.hub import Composite, Doing, hub, state
from asyncguard.runtime.indexing import is_plain
from asyncguard.runtime.judging import HOOKS, Watch
from asyncguard.runtime.probes import Args, Kwargs, Probe
from asyncguard.runtime.sizes import NUMBERS, are_plain

__warningregistry__ = None  # see `warned`
_getframe, getrefcount = sys._getframe, sys.getrefcount
HOOKS.append(globals())


def make(
    original: Function, name: str, adapter: Adapter, probes: Sequence[Probe], up: int
) -> Function:
    """What calls `original` and reports its waits.

    `name` is for the log; `up` says how many frames the caller is above the outermost hook.
    """
    watch = Watch(name, adapter, probes, up)
    if watch.late:
        hook = _late_hook(original, watch)
    elif watch.is_python:
        hook = _composite_hook(original, watch)
    else:
        hook = _hook(original, watch)
        if len(probes) == 1 and probes[0].quick is not None:
            hook = reads.read_hook(original, name, probes[0].quick, hook, adapter, up)
    if name.endswith(".__getitem__"):
        hook = _subscript_hook(original, hook)
    if len(probes) == 1 and (first := probes[0].numbers_from) is not None:
        hook = _number_hook(original, hook, first, NUMBERS | adapter.plain)
    return hook


def make_inner(
    original: Function, name: str, adapter: Adapter, probes: Sequence[Probe], up: int
) -> Function:
    """As `make`, for what waits inside composite calls only."""
    watch = Watch(name, adapter, probes, up)

    def hook(*args: Any, **kwargs: Any) -> Any:
        try:
            return _within(state.doing, watch, original, args, kwargs)
        except BaseException as error:
            forget_this_frame(error)
            raise

    return hook


def _hook(original: Function, watch: Watch) -> Function:
    """For calls of which it is known before they start what they wait for."""

    def hook(*args: Any, **kwargs: Any) -> Any:
        try:
            doing = state.doing
            if not hub.generation or doing.waiting:
                return _within(doing, watch, original, args, kwargs)
            wait = watch.begin(doing, args, kwargs)
            if wait is None:
                return original(*args, **kwargs)
            doing.waiting = True
            try:
                result = original(*args, **kwargs)
            except BaseException:
                watch.cancel(wait[0], wait[-1])
                raise
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


def _composite_hook(original: Function, watch: Watch) -> Function:
    """For functions of Python's, which may do more than wait for what is known before."""

    def hook(*args: Any, **kwargs: Any) -> Any:
        try:
            doing = state.doing
            if not hub.generation or doing.waiting:
                return _within(doing, watch, original, args, kwargs)
            composite = watch.enter(doing, args, kwargs)
            if composite is None:
                return original(*args, **kwargs)
            doing.waiting, doing.around = True, composite
            try:
                result = original(*args, **kwargs)
            except BaseException:
                watch.cancel(composite.sink, composite.entered)
                raise
            finally:
                doing.waiting, doing.around = False, None
            watch.leave(composite)
            return result
        except BaseException as error:
            forget_this_frame(error)
            raise

    return hook


def _late_hook(original: Function, watch: Watch) -> Function:
    """For calls whose result shows whether they waited (`x.to(device)`): judged afterwards."""

    def hook(*args: Any, **kwargs: Any) -> Any:
        try:
            doing = state.doing
            if not hub.generation or doing.waiting:
                return _within(doing, watch, original, args, kwargs)
            call = watch.ask(hub.sink, args, kwargs)
            if call is None:
                return original(*args, **kwargs)
            above = _getframe(1)
            if hub.scope is not None:
                watch.spend(call, doing, args, kwargs, above)
            doing.waiting, doing.around = True, call.around
            try:
                try:
                    result = original(*args, **kwargs)
                except BaseException:
                    watch.cancel(call.sink, call.began, call.parts)
                    raise
                finally:
                    doing.around = None
                watch.end_late(call, None, doing, args, kwargs, result, above)
            finally:
                doing.waiting = False
            return result
        except BaseException as error:
            forget_this_frame(error)
            raise

    return hook


def _within(doing: Doing, watch: Watch, original: Function, args: Args, kwargs: Kwargs) -> Any:
    """A call inside another one, of which it may be a part.

    Of calls within each other the innermost that waits is the part.
    """
    try:
        around = doing.around
        call = None if around is None else watch.ask(around.sink, args, kwargs)
        if around is None or call is None:
            return original(*args, **kwargs)
        above = _getframe(2)
        if hub.scope is not None and not isinstance(around, Composite):
            watch.spend(call, doing, args, kwargs, above)
        known = len(around.parts)
        doing.around = around if call.around and (watch.is_python or watch.late) else None
        try:
            result = original(*args, **kwargs)
        except BaseException:
            watch.cancel(call.sink, call.began)
            raise
        finally:
            doing.around = around
        if len(around.parts) > known:
            watch.cancel(call.sink, call.began)
        else:
            watch.end_late(call, around, doing, args, kwargs, result, above)
        return result
    except BaseException as error:
        forget_this_frame(error)
        raise


def _subscript_hook(original: Function, hook: Function) -> Function:
    """In front of another hook: programs index often, and plain indices never wait."""

    def getitem(self: Any, index: Any, *rest: Any) -> Any:
        try:
            return (original if is_plain(index) else hook)(self, index, *rest)
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
