"""Limits on waiting: `forbid_syncs`, `limit_syncs` and `allow_syncs`.

They hold for the code inside the `with` block, in its thread and in the asyncio tasks that it
starts (which share its number), with or without a trace around. Steps that end elsewhere, in
another thread or in a task that the limit does not hold for, are none of its own. A wait too many
raises before it waits, at the line that would have waited (after the call where only its result
shows that data moved, such as `new_tensor` of a list); a program that catches that meets it
again at the end of the block.

As decorators they hold while the function's own code runs: a generator's between two items too,
but not its caller's.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, cast

from asyncguard.model import AsyncguardError
from asyncguard.runtime import units
from asyncguard.runtime.budgets import ACTIONS, Account, Action, Terms
from asyncguard.runtime.counted import Counted
from asyncguard.runtime.decorating import Decorator
from asyncguard.runtime.faults import SyncLimitExceeded, SyncLimitWarning
from asyncguard.runtime.hub import hub
from asyncguard.runtime.registry import registry
from asyncguard.runtime.sites import Site

__all__ = ["SyncLimitExceeded", "SyncLimitWarning", "allow_syncs", "forbid_syncs", "limit_syncs"]

GUARD = "ASYNCGUARD_GUARD"
_REMEDY = "Take a release of the framework that this asyncguard works with, or leave the limit out."
_process: list[limit_syncs] = []  # what holds in all threads
_scopes: ContextVar[tuple[_Scope, ...]] = ContextVar("asyncguard_scopes", default=())


class _Scope(Decorator):
    """What the three have in common: a block, or a decorator, in which something holds."""

    _active = 0  # how many blocks are entered, in all threads

    def __init__(self) -> None:
        self._tokens: list[Token[tuple[_Scope, ...]]] = []
        self.abandoned = False  # left where it cannot be taken back from who entered it

    def _open(self) -> None:
        """Something holds somewhere from now on."""
        with hub.lock:
            _Scope._active += 1
            hub.set_scope(_look)
        self.abandoned = False

    def _close(self) -> None:
        with hub.lock:
            _Scope._active -= 1
            if not _Scope._active:
                hub.set_scope(None)

    def _judge(self, error: type[BaseException] | None) -> None:
        """Say at the end of the block what the block has kept to itself."""

    @contextmanager
    def _opened(self) -> Iterator[_Scope]:
        self._open()
        failed: type[BaseException] | None = None
        try:
            yield self
        except BaseException as error:
            failed = type(error)
            raise
        finally:
            self._close()
            self._judge(failed)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """It holds here: in this thread and task, until the end of the block."""
        token = _scopes.set((*_scopes.get(), self))
        try:
            yield
        finally:
            self._let_go(token)

    def _let_go(self, token: Token[tuple[_Scope, ...]]) -> None:
        try:
            _scopes.reset(token)
        except ValueError:
            self.abandoned = True
            warnings.warn(
                f"{self._name} was left in another task or thread than it was entered in: it held "
                "for the one that entered it, and no longer does",
                RuntimeWarning,
                stacklevel=3,
            )

    @property
    def _name(self) -> str:
        """What the program calls it."""
        return type(self).__name__

    def __enter__(self) -> Any:
        self._open()
        self._tokens.append(_scopes.set((*_scopes.get(), self)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()
        self._let_go(self._tokens.pop())
        self._judge(kind)


class limit_syncs(_Scope):  # noqa: N801  called like a function
    """At most `count` waits in the block, or in each step, token, request, ... of it with `per`.

        with asyncguard.limit_syncs(1, per="step"):
            train()

        with asyncguard.limit_syncs(1, per="token", after=2):
            for _ in range(100):
                with asyncguard.step("token"):
                    decode()

    count:  how many waits are free.
    per:    None: in the whole block; "step": in each of its steps, which end where an optimizer
            updates or `asyncguard.step()` is called; a name: in each unit that
            `asyncguard.step(name)` marks. Waits outside of units are free.
    after:  how many steps or units, the first that begin, are warm-up, in which all waits are free.
    first_only: whether each line that waits may do so once in the block, to set something up.
    on:     "raise": one more raises SyncLimitExceeded at the line that would wait, before it waits,
            and the end of the block raises it again where the block caught it; "warn": it warns
            with a SyncLimitWarning, once a line. None: as ASYNCGUARD_GUARD says, else "raise".
    kinds, apis, device: which waits count: their kinds ("scalar", "upload", ...), the catalogue's
            names or patterns of them ("torch.Tensor.item", "torch.cuda.*"), and where they wait
            ("cuda", "cuda:1"). None: all.

    It holds for the thread that enters the block and the asyncio tasks started there; no trace is
    needed. Each unit has a count of its own, that of each request among many tasks too. Waits under
    `allow_syncs` are free. Also a decorator of functions, coroutines and generators:
    `@limit_syncs(2)`. Raises ValueError for what none of these can be, and AsyncguardError where
    waits would pass unseen: where a framework that is imported cannot be hooked, and, at the end of
    the block, where it waited but no unit was marked. A block that ends within the warm-up warns.
    """

    def __init__(
        self,
        count: int,
        per: str | None = None,
        *,
        after: int = 0,
        first_only: bool = False,
        on: Action | None = None,
        kinds: str | Iterable[str] | None = None,
        apis: str | Iterable[str] | None = None,
        device: str | None = None,
    ) -> None:
        counted = Counted.of(kinds, apis, device)
        action = guard() or "raise" if on is None else on
        self._hold_to(Terms(count, per, after, first_only, action, counted))

    def _hold_to(self, terms: Terms) -> None:
        super().__init__()
        self.terms = terms
        self._account = self._opened_account()
        self._exceeded: str | None = None
        self._told: set[tuple[str, int, str]] = set()  # lines that were warned of
        self._is_open = False
        self._missed: tuple[str, ...] = ()  # what could not be seen in the block
        self._undo = ExitStack()  # of all that entering does

    def _again(self) -> _Scope:
        again = limit_syncs.__new__(limit_syncs)
        again._hold_to(self.terms)
        again._told = self._told
        return again

    @property
    def on(self) -> Action:
        """What happens at one wait too many."""
        return self.terms.on

    @property
    def _name(self) -> str:
        return "limit_syncs" if self.terms.count or self.terms.per else "forbid_syncs"

    def _opened_account(self) -> Account:
        return Account(self.terms, self._holds, self._exceed)

    def _holds(self) -> bool:
        """Whether it holds in the calling thread and task."""
        return self in _scopes.get() or self in _process

    def _open(self) -> None:
        if self._is_open:
            raise RuntimeError("this limit is entered already; make another one")
        with ExitStack() as undo:
            self._is_open = True
            undo.callback(setattr, self, "_is_open", False)
            self._account, self._exceeded = self._opened_account(), None
            registry.acquire(None)
            undo.callback(registry.release, None)
            self._require_sight(_faults())
            if self.terms.unit:
                undo.callback(units.forget, self._account)
                units.listen(self._account)
                self._account.begin()
            elif self.terms.per:
                undo.callback(hub.remove_marked, self._account)
                hub.add_marked(self._account)
            super()._open()
            undo.callback(super()._close)
            self._undo = undo.pop_all()

    def _close(self) -> None:
        self._missed = _faults()
        self._undo.close()

    def _judge(self, error: type[BaseException] | None) -> None:
        caught = self._exceeded
        self._account.close(judge=error is None)
        if error is not None:
            return
        if caught is not None:
            raise SyncLimitExceeded(f"{caught} (caught in the block that it was to limit)")
        self._require_sight((*self._missed, *filter(None, [self._account.doubts()])))
        if unused := self._account.never_armed():
            warnings.warn(f"{self._name}: {unused}", SyncLimitWarning, stacklevel=3)

    def _require_sight(self, faults: tuple[str, ...]) -> None:
        """Refuse to hold, or to have held, where waits would pass unseen."""
        if not faults:
            return
        message = f"{self._name} cannot see every wait: {' '.join(faults)}"
        if self.on == "raise":
            raise AsyncguardError(message)
        warnings.warn(message, SyncLimitWarning, stacklevel=4)

    def spend(self, site: Site) -> None:
        """Account for one wait; raises SyncLimitExceeded, or warns, where it is one too many."""
        self._account.spend(site)

    def _exceed(self, message: str, site: Site) -> None:
        if self.on == "raise":
            self._exceeded = message
            raise SyncLimitExceeded(message)
        self._warn(message, SyncLimitWarning, site)

    def _warn(self, message: str, category: type[Warning], site: Site) -> None:
        """Warn at a site, once a line."""
        place = site.path, site.line, site.blocker.point.id
        if place not in self._told:
            module = os.path.basename(site.path).removesuffix(".py")
            warnings.warn_explicit(message, category, site.path, site.line, module)
            self._told.add(place)


def forbid_syncs(
    *,
    on: Action | None = None,
    kinds: str | Iterable[str] | None = None,
    apis: str | Iterable[str] | None = None,
    device: str | None = None,
) -> limit_syncs:
    """No wait at all in the block: the first one raises SyncLimitExceeded, at its line.

        with asyncguard.forbid_syncs():
            loss = model(x).mean()

    As `limit_syncs(0, ...)`: in this thread, with or without a trace, and as a decorator.
    """
    return limit_syncs(0, on=on, kinds=kinds, apis=apis, device=device)


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
        super().__init__()
        self.reason = reason

    def _again(self) -> _Scope:
        return allow_syncs(self.reason)


def guard_process() -> None:
    """Forbid the waits of all threads until the process ends, as ASYNCGUARD_GUARD says.

    Does nothing where it is not set. Ends the process with status 2 where it is neither "warn" nor
    "raise": the package is being imported, and a program must not go on without its guard.
    """
    try:
        action = guard()
    except AsyncguardError as error:
        print(f"asyncguard: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if action is not None and not _process:
        hold_all(forbid_syncs())


def hold_all(limit: limit_syncs) -> None:
    """Let a limit hold in all threads, until `let_all_go`."""
    limit._open()
    _process.append(limit)


def let_all_go(limit: limit_syncs) -> None:
    """Take back `hold_all`."""
    _process.remove(limit)
    limit._close()


@contextmanager
def held_everywhere(limit: limit_syncs) -> Iterator[None]:
    """Let a limit hold in all threads and tasks of the block, and judge at its end."""
    with limit._opened():
        _process.append(limit)
        try:
            yield
        finally:
            _process.remove(limit)


def guard() -> Action | None:
    """Return what ASYNCGUARD_GUARD says; None where it is not set."""
    said = os.environ.get(GUARD, "")
    if said not in ("", *ACTIONS):
        raise AsyncguardError(f"{GUARD} must be 'warn' or 'raise', not {said!r}")
    return cast("Action", said) if said else None


def _look(site: Site) -> Site:
    """Charge a wait that is about to happen to the limits around it; the hub's scope.

    An `allow_syncs` hides it from the limits outside of it, not from those within.
    """
    stands_in = site.blocker.stand_in and registry.accelerator_in_use()
    for scope in reversed((*_process, *_scopes.get())):
        if scope.abandoned:
            continue
        if isinstance(scope, allow_syncs):
            return site.allowed(scope.reason)
        if isinstance(scope, limit_syncs) and not stands_in:
            scope.spend(site)
    return site


def _faults() -> tuple[str, ...]:
    """What cannot be seen, and what to do about it."""
    found = (*registry.faults(None), *hub.faults)
    return (*found, _REMEDY) if found else ()
