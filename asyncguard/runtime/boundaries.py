"""Hooks of calls that are no waits themselves: what ends a step, what compiles, what loads data."""

from __future__ import annotations

import threading
from typing import Any

from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.detours import Function
from asyncguard.runtime.faults import forget_this_frame
from asyncguard.runtime.hub import front, hub, state
from asyncguard.runtime.steps import compiled_steps

__warningregistry__ = None  # see `warned`


def step_hook(original: Function, name: str, adapter: Adapter, owner: Any) -> Function:
    """Return a hook around `original`, which ends a step, such as an optimizer's `update`.

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
            forget_this_frame(error)
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
    """Return a hook around the call of compiled functions, which may be whole training steps.

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
            forget_this_frame(error)
            raise
        finally:
            if outermost:
                doing.compiled = None
        if outermost and self in compiled_steps:
            hub.mark(self)
        return result

    return hook


def loading_hook(original: Function) -> Function:
    """Return a hook around `original`, by which a data loader loads data, on the host."""

    def load(*args: Any, **kwargs: Any) -> Any:
        doing, beat = state.doing, front.reads
        before, doing.loading = doing.loading, True
        shuts = beat.doing is doing and bool(beat.thread)
        if shuts:  # the short way does not ask who is loading
            beat.thread = 0
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            forget_this_frame(error)
            raise
        finally:
            doing.loading = before
            if shuts:
                beat.thread = threading.get_ident()

    return load
