"""The progress bar of a long check, on stderr; it leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


@contextmanager
def progress_bar(verb: str) -> Iterator[Callable[[int, int], None]]:
    """Give a callback `(done, total)` that moves the bar."""
    columns = (TextColumn(verb), BarColumn(), MofNCompleteColumn(), TextColumn("files"))
    # No refreshing thread: the check forks its worker processes.
    with Progress(
        *columns, console=Console(stderr=True), transient=True, auto_refresh=False
    ) as progress:
        task = progress.add_task(verb, total=None)

        def advance(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)
            if done == total or not done % 16:
                progress.refresh()

        yield advance
