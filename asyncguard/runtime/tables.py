"""The logs of a recorder: one for each thread, and each task of asyncio, that waits."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from asyncguard.runtime.cells import Cell
from asyncguard.runtime.hub import Beat, running_loop, state
from asyncguard.runtime.sites import Site

THREADS = 64  # threads and tasks told apart; those that ended are added up beyond that

Wait = tuple["Site | Call", int, int, int]  # site, begin, end, step


class Call(NamedTuple):
    """A composite call in the log, in its site's place: `whole` ns from its begin to its end."""

    site: Site
    home: Site
    whole: int


class Table:
    """What one thread or task has waited: its log, and the cells of what was logged before."""

    def __init__(self, name: str, owner: threading.Thread | asyncio.Task[Any] | None) -> None:
        self.name = name
        self.log: deque[Wait] = deque()
        self.cells: dict[Site, Cell] = {}
        self._owner = weakref.ref(owner) if owner is not None else None

    def is_alive(self) -> bool:
        """Whether more may be appended."""
        owner = self._owner() if self._owner is not None else None
        if isinstance(owner, threading.Thread):
            return owner.is_alive()
        return owner is not None and not owner.done()


class _Presence:
    """Kept by one thread alone: it goes when that ends."""


@dataclass
class _Thread(threading.local):
    table: Table | None = field(default=None)
    presence: _Presence | None = field(default=None)


class Tables:
    """The tables of all threads and tasks.

    `lock` guards their list; `add_up` empties their logs.
    """

    def __init__(
        self, beat: Beat, lock: threading.RLock, add_up: Callable[[], None], warmup: int
    ) -> None:
        self._beat = beat
        self._lock = lock
        self._add_up = add_up
        self._warmup = warmup
        self._local = _Thread()
        self._of_task: weakref.WeakKeyDictionary[asyncio.Task[Any], Table]
        self._of_task = weakref.WeakKeyDictionary()
        self._all: list[Table] = []

    def __iter__(self) -> Iterator[Table]:
        return iter(list(self._all))

    def cells(self) -> list[Cell]:
        """All cells there are; other threads may add to them."""
        return [cell for table in self for cell in list(table.cells.values())]

    def forget(self) -> None:
        """Hold nothing any more."""
        for table in self._all:
            table.cells = {}
        self._all = []

    def current(self) -> Table:
        """The table of the task that runs, else of the thread."""
        task = asyncio.current_task() if running_loop() is not None else None
        table = self._of_task.get(task) if task is not None else None
        if table is None:
            table = self._table_of_task(task) if task is not None else self._table_of_thread()
        return table

    def _table_of_thread(self) -> Table:
        table = self._local.table
        if table is None:
            thread = threading.current_thread()
            table = self._local.table = Table(thread.name, thread)
            with self._lock:
                self._make_room()
                self._all.append(table)
        if not self._beat.is_kept and not state.doing.loading:
            self._local.presence = _Presence()
            self._beat.keep(table.log, state.doing, self._local.presence)
        return table

    def _table_of_task(self, task: asyncio.Task[Any]) -> Table:
        """Where too many tasks are under way to tell them apart, that of their thread."""
        with self._lock:
            has_room = self._make_room()
            if has_room:
                name = f"{threading.current_thread().name} {task.get_name()}"
                table = self._of_task[task] = Table(name, task)
                self._all.append(table)
        if not has_room:
            table = self._of_task[task] = self._table_of_thread()
        return table

    def _make_room(self) -> bool:
        if len(self._all) >= THREADS:
            self._merge_ended()
        return len(self._all) < THREADS

    def _merge_ended(self) -> None:
        """Add the tables of those that have ended up into one, so that memory stays bounded."""
        self._add_up()
        ended = [table for table in self._all if not table.is_alive()]
        total = Table("ended threads and tasks", None)
        for table in ended:
            for site, cell in table.cells.items():
                cell = cell.settled(self._beat.step, self._warmup)
                total.cells.setdefault(site, Cell(cell.first)).add(cell)
        self._all = [total, *(table for table in self._all if table not in ended)]
