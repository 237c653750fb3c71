"""How the files of a check are dealt out: in which chunks, and to how many processes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from asyncguard import files
from asyncguard.lint.modules.naming import package_around
from asyncguard.lint.run.pool import stretches
from asyncguard.lint.source.imports import imports_in, module_of

CHUNKS = 16  # tasks at least, for an even load
CHUNK = 160_000  # bytes of a task at most: many enough to spare messages
# Each process analyses, beside its share, about half of what that imports: the processor's time of
# two was 1.3 to 1.8 times that of one on timm, nnUNet, ultralytics, Protenix and lightning.
SHARED = 0.5
WORTH = 0.8  # of its time, what a check may take with twice the processes


def chunks_of(tasks: Sequence[str]) -> list[Sequence[str]]:
    """Keep the files of a folder together: what one imports, the next one likely does as well.

    A package's own files come before those of the folders in it, which they know less of.
    """
    start = len(os.path.commonprefix(tasks))  # noqa: RUF071 - on several drives as well

    def place(path: str) -> tuple[str, int, str]:
        within = path[start:]
        return within.partition(os.sep)[0], within.count(os.sep), path

    sizes = {task: _size(task) for task in sorted(tasks, key=place)}
    most = min(CHUNK, sum(sizes.values()) // CHUNKS)
    chunks: list[Sequence[str]] = []
    chunk: list[str] = []
    filled = most
    for task, size in sizes.items():
        if filled >= most:
            chunk, filled = [], 0
            chunks.append(chunk)
        chunk.append(task)
        filled += size
    return chunks


def processes(tasks: Sequence[str], modules: Mapping[str, str]) -> int:
    """Return how many processes check files: twice as many, if that saves a fifth of the time.

    Each analyses its share, and of all that this imports what it needs: where the files of a
    program import each other, many processes would do the same again and again.
    """
    imported, chunks = _Imports(modules), chunks_of(tasks)
    count, took = 1, float(imported.reached(tasks))
    while count < (os.cpu_count() or 1):
        more = min(2 * count, os.cpu_count() or 1)
        shares = stretches(chunks, more)
        if len(shares) < more:
            break
        longest = max(imported.work([*chain.from_iterable(share)]) for share in shares)
        if longest > WORTH * took:
            break
        count, took = more, longest
    return count


class _Imports:
    """Which of the checked files import which, each read once."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._names = {path: name for name, path in reversed([*modules.items()])}
        self._known: dict[str, tuple[int, list[str]]] = {}

    def work(self, tasks: Sequence[str]) -> float:
        """Return what checking some files takes: as much as so many bytes that import nothing."""
        own = sum(self._of(task)[0] for task in tasks)
        return own + SHARED * (self.reached(tasks) - own)

    def reached(self, tasks: Sequence[str]) -> int:
        """Return the bytes of some files and of those that they import, and so on."""
        left, seen = [*tasks], {*tasks}
        size = 0
        while left:
            own, imported = self._of(left.pop())
            size += own
            new = [path for path in imported if path not in seen]
            seen.update(new)
            left += new
        return size

    def _of(self, path: str) -> tuple[int, list[str]]:
        if path not in self._known:
            try:
                text = files.read(path).decode("latin-1")
            except OSError:
                text = ""
            self._known[path] = len(text), [*dict.fromkeys(self._imported(path, text))]
        return self._known[path]

    def _imported(self, path: str, text: str) -> Iterator[str]:
        """Yield the checked files that a text imports, or imports from."""
        package = package_around(self._names.get(path, ""), path)
        for imported in imports_in(text):
            name = module_of(imported, package)
            for asked in (f"{name}.{imported.name}", name):
                if asked in self._modules:
                    yield self._modules[asked]
                    break


def _size(path: str) -> int:
    """Return the bytes of a file; one that is gone by now takes no time."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
