"""Limits on waiting: `forbid_syncs`, `limit_syncs` and `allow_syncs`.

They hold for the code inside the `with` block, in its thread and in the asyncio tasks that it
starts (which share its number), with or without a trace around. Steps that end elsewhere, in
another thread or in a task that the limit does not hold for, are none of its own. A wait too many
raises before it waits, at the line that would have waited.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Literal, TypeVar

from asyncguard.runtime.hooks import SyncLimitExceeded
from asyncguard.runtime.hub import hub
from asyncguard.runtime.registry import registry
from asyncguard.runtime.sites import Site
from asyncguard.runtime.steps import Pace

__all__ = ["SyncLimitExceeded", "allow_syncs", "forbid_syncs", "limit_syncs"]

F = TypeVar("F", bound=Callable[..., Any])
_limits: ContextVar[tuple[limit_syncs, ...]] = ContextVar("asyncguard_limits", default=())
_allowed: ContextVar[str | None] = ContextVar("asyncguard_allowed", default=None)


class _Scope:
    """What the three have in common: a block, or a decorator, in which something holds."""

    _active = 0  # how many blocks are entered, in all threads

    def __call__(self, function: F) -> F:
        """Decorate: the block is the call."""

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return guarded  # type: ignore[return-value]

    def _again(self) -> _Scope:
        """A fresh one of the same kind."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        with hub.lock:
            _Scope._active += 1
            hub.set_scope(_look)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with hub.lock:
            _Scope._active -= 1
            if not _Scope._active:
                hub.set_scope(None)


class limit_syncs(_Scope):  # noqa: N801  called like a function
    """At most `count` waits in the block, or in each of its steps with `per="step"`.

        with asyncguard.limit_syncs(1, per="step"):
            train()

    One more raises SyncLimitExceeded at the line that would wait, before it waits. It holds for the
    thread that enters the block and the asyncio tasks started there; no trace is needed. Steps end
    where an optimizer updates or `asyncguard.step()` is called. Waits under `allow_syncs` are free.
    Also a decorator: `@limit_syncs(2)`. Raises ValueError for another `count` or `per`.
    """

    def __init__(self, count: int, per: Literal["step"] | None = None) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(f"count must be a whole number from 0 up, not {count!r}")
        if per not in (None, "step"):
            raise ValueError(f"per must be None or 'step', not {per!r}")
        self.count = count
        self.per = per
        self.used = 0
        self._pace = Pace()
        self._lock = threading.Lock()
        self._token: Token[tuple[limit_syncs, ...]] | None = None

    def _again(self) -> _Scope:
        return limit_syncs(self.count, self.per)

    def __enter__(self) -> limit_syncs:
        if self._token is not None:
            raise RuntimeError("this limit is entered already; make another one")
        registry.acquire(None)
        if self.per:
            hub.add_marked(self)
        self._token = _limits.set((*_limits.get(), self))
        super().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        assert self._token is not None
        _limits.reset(self._token)
        self._token = None
        if self.per:
            hub.remove_marked(self)
        registry.release(None)

    def mark(self, source: object | None) -> None:
        """A step ended: the next one has its own allowance."""
        if self not in _limits.get():
            return
        with self._lock:
            if self._pace.ends_step(source):
                self.used = 0

    def spend(self, site: Site) -> None:
        """Account for one wait; raises SyncLimitExceeded where it is one too many."""
        with self._lock:
            if self.used >= self.count:
                raise SyncLimitExceeded(_message(site, self.count, self.per))
            self.used += 1


def forbid_syncs() -> limit_syncs:
    """No wait at all in the block: the first one raises SyncLimitExceeded, at its line.

        with asyncguard.forbid_syncs():
            loss = model(x).mean()

    As `limit_syncs(0)`: in this thread, with or without a trace, and as a decorator.
    """
    return limit_syncs(0)


class allow_syncs(_Scope):  # noqa: N801
    """The waits of the block are meant: limits do not see them, and traces note the reason.

        with asyncguard.allow_syncs("log every 100 steps"):
            print(loss.item())

    Reports show the reason, gates and suggestions leave such waits alone. Also a decorator. Raises
    ValueError without a reason.
    """

    def __init__(self, reason: str) -> None:
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError("say why: allow_syncs('log every 100 steps')")
        self.reason = reason
        self._tokens: list[Token[str | None]] = []

    def _again(self) -> _Scope:
        return allow_syncs(self.reason)

    def __enter__(self) -> allow_syncs:
        self._tokens.append(_allowed.set(self.reason))
        super().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        _allowed.reset(self._tokens.pop())


def _look(site: Site) -> Site:
    """Charge a wait that is about to happen to the limits around it; the hub's scope."""
    reason = _allowed.get()
    if reason is not None:
        return site.allowed(reason)
    if site.blocker.stand_in and registry.accelerator_in_use():
        return site
    for limit in _limits.get():
        limit.spend(site)
    return site


def _message(site: Site, count: int, per: str | None) -> str:
    point = site.blocker.point
    allowed = f"at most {count} allowed{' a step' if per else ''}" if count else "none allowed here"
    return f"{site.path}:{site.line}: {point.id} waits for the device ({allowed}): {point.advice}"
