"""One function over many items on several processes, whatever happens to a process.

Neighbouring items go to the same process, which keeps what it learned from one to the next and
from one run to the next; a process that has done its share takes from the end of another's. A
process that dies (out of memory, a crash in native code) costs the item that it was at.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from asyncguard import files

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess


Item = TypeVar("Item")
Result = TypeVar("Result")


# A new interpreter takes modules from the working directory first, which may be a stranger's: one
# that is told not to does so from 3.11 on. Elsewhere, what cannot fork works alone.
SAFE_PATH = sys.version_info >= (3, 11)


def has_others() -> bool:
    """Whether other processes can be started to work; else this one does all itself."""
    return _may_fork() or SAFE_PATH


def _may_fork() -> bool:
    """Whether to fork: it starts at once and shares what is loaded, but not with other threads."""
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def _own_modules_only() -> Iterator[None]:
    """Start interpreters that import nothing from the working directory."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


class _Worker(NamedTuple):
    process: BaseProcess
    connection: Connection
    share: Sequence[Any]  # the items that it is to do, as far as is known before the first


class Pool(Generic[Item, Result]):
    """Processes that apply one function; with one job, this process does it itself.

    `initializer(*initargs, share)` runs first in each process; its share are the items that it is
    to do, as far as is known before the first: another may take some of them.
    """

    def __init__(
        self,
        function: Callable[[Item], Result],
        jobs: int | None,
        initializer: Callable[..., None] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        self.function = function
        self.jobs = jobs or os.cpu_count() or 1
        self.setup = (initializer, initargs)
        self._workers: list[_Worker] = []
        self._ready = False

    def __enter__(self) -> Pool[Item, Result]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.connection.close()  # it ends when it finds nobody to listen to
            if error is not None:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
        self._workers.clear()

    def run(self, items: Sequence[Item]) -> Iterator[tuple[Item, Result | None]]:
        """Yield each item with its result as they come; None where the process died over it."""
        alone = min(self.jobs, len(items)) < 2 or not has_others()
        if alone and not self._workers:
            yield from ((item, self._here(item, items)) for item in items)
            return
        from multiprocessing.connection import wait

        count = max(len(self._workers), min(self.jobs, len(items)))
        shares = stretches(items, count)
        for share in shares[len(self._workers) :]:
            self._workers.append(self._worker(share))
        queues = [deque(share) for share in shares]
        at_work: dict[Connection, tuple[int, Item]] = {}
        for index in range(count):
            self._give(index, queues, at_work)
        while at_work:
            for ready in wait(list(at_work)):
                index, item = at_work.pop(ready)  # type: ignore[call-overload]
                result = self._result(index)
                self._give(index, queues, at_work)
                yield item, result

    def _here(self, item: Item, share: Sequence[Item]) -> Result:
        if not self._ready:
            _begin(*self.setup, share)
            self._ready = True
        return self.function(item)

    def _worker(self, share: Sequence[Item]) -> _Worker:
        import multiprocessing

        safe = _may_fork()
        context = multiprocessing.get_context("fork" if safe else "spawn")
        ours, theirs = context.Pipe()
        # A forked process has our ends of all connections too, and would never see them close.
        inherited = [w.connection for w in self._workers] + [ours] if safe else []
        told = (theirs, inherited, self.function, *self.setup, share, files.plan())
        process = context.Process(target=_serve, args=told, daemon=True)  # type: ignore[attr-defined]
        with _own_modules_only():
            process.start()
        theirs.close()
        return _Worker(process, ours, share)

    def _give(
        self, index: int, queues: list[deque[Item]], at_work: dict[Connection, tuple[int, Item]]
    ) -> None:
        """Hand a worker the next item of its own, or else the last of the longest queue."""
        longest = max(queues, key=len)
        if not longest:
            return
        item = queues[index].popleft() if queues[index] else longest.pop()
        connection = self._workers[index].connection
        at_work[connection] = index, item
        try:
            connection.send(item)
        except OSError:
            return  # it has died; so says its end of the connection

    def _result(self, index: int) -> Result | None:
        """Return what a worker answers; another takes the place of one that died."""
        process, connection, share = self._workers[index]
        try:
            result, error = connection.recv()
        except (EOFError, OSError):
            connection.close()
            process.join()
            self._workers[index] = self._worker(share)
            return None
        if error is not None:
            raise error
        answer: Result = result
        return answer


def stretches(items: Sequence[Item], count: int) -> list[Sequence[Item]]:
    """Cut items into as many runs of neighbours, of equal lengths but for the last."""
    stretch = -(-len(items) // count)
    return [items[i * stretch : (i + 1) * stretch] for i in range(count)]


def tune_collector() -> None:
    """Look for garbage cycles seldom: trees hold none, and searching them takes long.

    For processes that do nothing else.
    """
    gc.set_threshold(5_000_000, 20, 1_000)


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Do so for a while, in a process that does other things as well."""
    before = gc.get_threshold()
    tune_collector()
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _begin(
    initializer: Callable[..., None] | None, initargs: tuple[Any, ...], share: Sequence[Any]
) -> None:
    if initializer is not None:
        initializer(*initargs, share)


def _serve(
    connection: Connection,
    inherited: Sequence[Connection],
    function: Callable[[Any], object],
    initializer: Callable[..., None] | None,
    initargs: tuple[Any, ...],
    share: Sequence[Any],
    plan: Mapping[str, bytes],
) -> None:
    """Answer items until nobody asks. An interrupt is for the process that asks, which ends us."""
    for other in inherited:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tune_collector()
    with files.planned(plan):
        _begin(initializer, initargs, share)
        _answer(connection, function)


def _answer(connection: Connection, function: Callable[[Any], object]) -> None:
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        answer: tuple[object, Exception | None]
        try:
            answer = function(item), None
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for
            answer = None, error
        try:
            connection.send(answer)
        except BrokenPipeError:
            return  # nobody waits for it any more
