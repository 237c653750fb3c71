"""One function over many items on several processes, whatever happens to a process.

A worker that dies (out of memory, a crash in native code) breaks the whole pool; the items whose
results it owed are then run one at a time, each in a process of its own, so that one is named and
the others are not lost.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int | None,
    initializer: Callable[..., None] | None = None,
    initargs: tuple[Any, ...] = (),
) -> Iterator[tuple[Item, Result | None]]:
    """Yield each item with its result as they come; None where the process died over it."""
    workers = min(jobs or os.cpu_count() or 1, len(items))
    if workers < 2:
        if initializer:
            initializer(*initargs)
        yield from ((item, function(item)) for item in items)
        return
    left = dict(enumerate(items))
    try:
        for index, result in _on_pool(function, left, workers, initializer, initargs):
            yield left.pop(index), result
    except BrokenProcessPool:
        for item in list(left.values()):
            yield item, alone(function, item, initializer, initargs)


def _on_pool(
    function: Callable[[Item], Result],
    items: dict[int, Item],
    workers: int,
    initializer: Callable[..., None] | None,
    initargs: tuple[Any, ...],
) -> Iterator[tuple[int, Result]]:
    with _executor(workers, initializer, initargs) as pool:
        pending: dict[Future[Result], int] = {
            pool.submit(function, item): index for index, item in items.items()
        }
        try:
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield pending.pop(future), future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def alone(
    function: Callable[[Item], Result],
    item: Item,
    initializer: Callable[..., None] | None = None,
    initargs: tuple[Any, ...] = (),
) -> Result | None:
    """The result of one item in a process of its own; None where the process died over it."""
    with _executor(1, initializer, initargs) as pool:
        try:
            return pool.submit(function, item).result()
        except BrokenProcessPool:
            return None


def _executor(
    workers: int, initializer: Callable[..., None] | None, initargs: tuple[Any, ...]
) -> ProcessPoolExecutor:
    # Forking starts at once and shares what is loaded, but is safe only without other threads.
    safe = sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork" if safe else "spawn")
    return ProcessPoolExecutor(workers, context, initializer, initargs)
