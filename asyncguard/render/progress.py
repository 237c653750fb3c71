"""The progress bar of a long check, on stderr; it leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

PATIENCE = 1.0  # seconds that a check may take before anything is shown
Clock = Callable[[], float]


@contextmanager
def progress_bar(
    verb: str, stream: TextIO, clock: Clock = time.monotonic
) -> Iterator[Callable[[int, int], None]]:
    """Give a callback `(done, total)` that moves the bar, once there is something to wait for."""
    start = clock()
    with ExitStack() as shown:
        bar: list[Callable[[int, int], None]] = []

        def advance(done: int, total: int) -> None:
            if not bar and done < total and clock() - start >= PATIENCE:
                bar.append(shown.enter_context(_bar(verb, stream)))
            if bar:
                bar[0](done, total)

        yield advance


@contextmanager
def _bar(verb: str, stream: TextIO) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(verb), BarColumn(), MofNCompleteColumn(), TextColumn("files"))
    # No refreshing thread: the check forks its worker processes.
    console = Console(file=stream, force_terminal=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task(verb, total=None)

        def advance(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)
            if done == total or not done % 16:
                progress.refresh()

        yield advance
