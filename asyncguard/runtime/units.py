"""Units of work with a name, such as a token or a request, which `asyncguard.step(name)` marks.

A unit is under way in the task or thread that began it, and in the tasks started meanwhile. Units
may lie within each other, also several of one name: a wait counts for all that are under way.

A unit is a block (`with step("token"):`), or the *stretch* from one call of `step("token")` to the
next in the same task or thread, within the same block. What comes before the first call is the
*lead*: a unit if that call comes, else what lies outside of units. A call cannot tell whether its
result is about to be entered as a block, so a stretch is *fresh* until anything else happens, and
only then do its listeners learn that it began.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol

from asyncguard.runtime.decorating import Decorator, F
from asyncguard.runtime.hub import running_loop

STEP = "step"  # what the loop's own steps are called, which `asyncguard.step()` marks
_lock = threading.Lock()
_listeners: tuple[Listener, ...] = ()
_around: ContextVar[tuple[Unit, ...]] = ContextVar("asyncguard_units", default=())


class Listener(Protocol):
    """Who wants to know of units. Its methods may raise; the others learn of the unit even so."""

    def minds(self, name: str) -> bool:
        """Whether to tell of a unit of that name that begins in the calling task or thread."""

    def marked(self, unit: Unit) -> None:
        """A stretch was marked that begins once it proves to be no block."""

    def withdrawn(self, unit: Unit) -> None:
        """It is a block."""

    def began(self, unit: Unit) -> None:
        """A unit began. Of a lead that is told as late as it ends."""

    def ended(self, unit: Unit) -> None:
        """A unit is complete."""


class Unit:
    """One token, request, ... `tallies` are its listeners' own, by listener."""

    __slots__ = (
        "__weakref__", "after", "fresh", "is_abandoned", "is_block", "kept", "lead_of", "listeners",
        "name", "tallies",
    )  # fmt: skip

    def __init__(self, name: str, *, is_block: bool = False, lead_of: object = None) -> None:
        self.name = name
        self.is_block = is_block
        self.lead_of = lead_of  # the task or thread whose lead it is; None: it is no lead
        self.after: Unit | None = None  # of a stretch: what its mark ends
        self.fresh = False
        self.is_abandoned = False  # left where it was not entered
        self.kept: tuple[Unit, ...] = ()  # stretches within a block that is not held just now
        self.listeners = tuple(each for each in _listeners if each.minds(name))
        self.tallies: dict[Any, Any] = {}

    @property
    def told(self) -> tuple[Listener, ...]:
        """Who is told of it: also listeners that came meanwhile and have met it."""
        if not self.tallies or self.tallies.keys() <= set(self.listeners):
            return self.listeners
        return tuple(dict.fromkeys((*self.listeners, *self.tallies)))

    def is_over(self) -> bool:
        """Whether it is under way nowhere: an abandoned block, or a stretch of nobody's now."""
        if self.is_block:
            return self.is_abandoned
        return not any(listener in _listeners for listener in self.listeners)

    def settle(self) -> None:
        """Tell the listeners of a fresh stretch that it began, and that what it follows ended."""
        if not self.fresh:
            return
        with _lock:
            fresh, self.fresh = self.fresh, False
            before, self.after = self.after, None
        if not fresh:
            return
        if before is None:
            before = Unit(self.name, lead_of=_owner())
        try:
            if before.lead_of is not None:
                _tell_began(before)
        finally:
            _tell_ended(before)
            _tell_began(self)


def listen(listener: Listener) -> None:
    """Tell `listener` of units that begin from now on."""
    global _listeners
    with _lock:
        _listeners = (*_listeners, listener)


def forget(listener: Listener) -> None:
    """Take back `listen`."""
    global _listeners
    with _lock:
        _listeners = tuple(each for each in _listeners if each is not listener)
    _present()


def under_way() -> tuple[Unit, ...]:
    """The units that a wait here counts for, outermost first, leads included."""
    around = _present()
    for unit in around:
        unit.settle()
    return around


def under_way_as(name: str) -> tuple[Unit, ...]:
    """Those of one name; where there are none, the leads: a call may come in any block around."""
    around = under_way()
    found = tuple(unit for unit in around if unit.name == name and unit.lead_of is None)
    return found or _leads(around, name)


def _leads(around: tuple[Unit, ...], name: str) -> tuple[Unit, ...]:
    """The lead here of each block around and of what is outside of them, made where missing."""
    own, found, held = _owner(), [], list[Unit]()
    for level in _levels(around):
        lead = next((unit for unit in level if unit.name == name and unit.lead_of == own), None)
        if lead is None:
            lead = Unit(name, lead_of=own)
            held.append(lead)
        found.append(lead)
        held += level
    if len(held) > len(around):
        _around.set(tuple(held))
    return tuple(found)


def _levels(around: tuple[Unit, ...]) -> Iterator[tuple[Unit, ...]]:
    """What is outside of all blocks, what is in the outermost, ...; each ends with a block."""
    first = 0
    for after, unit in enumerate(around, 1):
        if unit.is_block:
            yield around[first:after]
            first = after
    yield around[first:]


def _present() -> tuple[Unit, ...]:
    """What is under way here, without what is no longer."""
    around = _around.get()
    if any(unit.is_over() for unit in around):
        around = tuple(unit for unit in around if not unit.is_over())
        _around.set(around)
    return around


def begin(name: str) -> Unit:
    """Begin a block; it is under way where `hold` says so."""
    under_way()
    unit = Unit(name, is_block=True)
    _tell_began(unit)
    return unit


def hold(unit: Unit) -> None:
    """The block is under way here from now on."""
    _around.set((*_around.get(), unit, *unit.kept))


def let_go(unit: Unit) -> None:
    """The block, and the stretches within, are no longer under way here."""
    around = _around.get()
    if unit not in around:
        return
    at = around.index(unit)
    rest = around[at + 1 :]
    inner = next((n for n, each in enumerate(rest) if each.is_block), len(rest))
    unit.kept = rest[:inner]
    _around.set((*around[:at], *rest[inner:]))
    for stretch in unit.kept:
        stretch.settle()


def end(unit: Unit) -> None:
    """The block is complete."""
    _tell_ended(unit)


def mark(name: str) -> Unit | None:
    """End the stretch under way here, or the lead, and begin the next; None: nobody wants to know.

    The listeners learn of it with the next thing that happens here, unless it is withdrawn.
    """
    if not _listeners:
        return None
    around = under_way()
    unit = Unit(name)
    unit.fresh = True
    *_, level = _levels(around)
    same = [each for each in level if each.name == name]
    if same:
        own = _owner()
        before = [each for each in same if each.lead_of in (None, own)]
        unit.after = before[-1] if before else None
        around = tuple(each for each in around if each not in same)
    _around.set((*around, unit))
    for listener in unit.listeners:
        listener.marked(unit)
    return unit


def withdraw(unit: Unit) -> None:
    """Undo a mark: a block is entered in its place."""
    with _lock:
        fresh, unit.fresh = unit.fresh, False
        before, unit.after = unit.after, None
    around = _around.get()
    if fresh and unit in around:
        at = around.index(unit)
        _around.set((*around[:at], *filter(None, [before]), *around[at + 1 :]))
        for listener in unit.listeners:
            listener.withdrawn(unit)


class NamedStep(Decorator):
    """What `asyncguard.step(name)` returns: a block that is a unit, and a decorator.

    `marked` is the stretch that the call itself began.
    """

    def __init__(self, name: str, marked: Unit | None = None) -> None:
        self.name = name
        self._marked = marked
        self._entered: list[tuple[Unit, object]] = []  # and by which task or thread

    def __call__(self, function: F) -> F:
        """Decorate: each call of the function is a unit. Raises TypeError for a class."""
        self._withdraw()
        return super().__call__(function)

    def __enter__(self) -> NamedStep:
        self._withdraw()
        unit = begin(self.name)
        self._entered.append((unit, _owner()))
        hold(unit)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        here = [each for each in self._entered if each[1] == _owner()]
        entry = (here or self._entered)[-1]
        self._entered.remove(entry)
        unit = entry[0]
        # Where another task or thread has entered it, nobody can take it out there.
        unit.is_abandoned = not here
        try:
            let_go(unit)
        finally:
            end(unit)

    def _withdraw(self) -> None:
        marked, self._marked = self._marked, None
        if marked is not None:
            withdraw(marked)

    def _again(self) -> NamedStep:
        return NamedStep(self.name)

    @contextmanager
    def _opened(self) -> Iterator[NamedStep]:
        unit = begin(self.name)
        self._entered.append((unit, _owner()))
        try:
            yield self
        finally:
            end(unit)

    @contextmanager
    def _held(self) -> Iterator[None]:
        unit, _ = self._entered[-1]
        hold(unit)
        try:
            yield
        finally:
            let_go(unit)

    @property
    def _name(self) -> str:
        return f"step({self.name!r})"


def checked(name: object) -> str:
    """The name of a unit; raises ValueError for what can be none."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name the unit, as in step('token'), not {name!r}")
    if name == STEP:
        raise ValueError(
            "'step' is what optimizers and step() without a name mark: name the unit otherwise"
        )
    return name


def _tell_began(unit: Unit) -> None:
    if not (told := unit.told):
        return
    with ExitStack() as calls:  # the last comes first
        for listener in reversed(told):
            calls.callback(listener.began, unit)


def _tell_ended(unit: Unit) -> None:
    for listener in unit.told:
        listener.ended(unit)


def _owner() -> object:
    """The task that runs here, else the thread."""
    task = asyncio.current_task() if running_loop() is not None else None
    return threading.get_ident() if task is None else weakref.ref(task)


def _forked() -> None:
    """In a forked child nobody listens."""
    global _lock, _listeners
    _lock = threading.Lock()
    _listeners = ()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
