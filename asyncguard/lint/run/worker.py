"""One process's share of a check: reads files and returns their facts.

Trees are imported only when a file is checked: what the cache answers does without libcst.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from asyncguard import files
from asyncguard.additions import Addition
from asyncguard.lint import knowledge, names
from asyncguard.lint.program.facts import FileFacts, unreadable
from asyncguard.lint.source.suppress import NO_ALLOWANCES, Allowances
from asyncguard.model import Device

if TYPE_CHECKING:
    from asyncguard.lint.modules.leading import Leading
    from asyncguard.lint.modules.project import Project
    from asyncguard.lint.modules.screen import Screen


STACK = 256 * 1024 * 1024  # bytes; the parser recurses in native code, deeper than a usual stack
FRAMES = 30_000  # Python's own, thirty times the usual; a call that is followed takes some thirty
# Words of Python's stack: the frame of `_in_one_chunk` asks for so many, and leaves as many free.
ROOM = 1 << 21
T = TypeVar("T")


class Options(NamedTuple):
    """What the settings mean for a worker."""

    device: Device = Device.WRITTEN  # where values are
    catalogue: tuple[Addition, ...] = ()  # a team's own
    listed: names.Listed = ()  # more names of families
    allowed: Allowances = NO_ALLOWANCES  # what says in programs that they wait on purpose


def index(paths: Sequence[str]) -> dict[str, str]:
    """Return the files by module name."""
    from asyncguard.lint.modules.naming import index as by_name

    return by_name(paths)


@cache
def load() -> type[Project]:
    """Import libcst and the analyzer, which processes that fork afterwards then share."""
    from asyncguard.lint.modules.project import Project

    return Project


class Worker:
    """Checks files one after another, keeping the modules that they import.

    `wanted` are the files that it is to check, as far as is known; None: all of the modules.
    `leading` says which functions of some of these matter; None: all.
    """

    def __init__(
        self,
        modules: dict[str, str],
        options: Options,
        wanted: frozenset[str] | None = None,
        leading: Leading | None = None,
    ) -> None:
        self.modules = modules
        self.options = options
        self.wanted = wanted
        self.leading = leading
        self._project: Project | None = None
        self._told: set[tuple[str, str]] = set()

    @cached_property
    def screen(self) -> Screen:
        """What is known of files without trees."""
        from asyncguard.lint.modules.screen import Screen

        return Screen(self.modules, knowledge.load(self.options.catalogue))

    @property
    def project(self) -> Project:
        """The modules read so far."""
        if self._project is None:
            known, device = self.screen.knowledge, self.options.device
            self._project = load()(
                self.modules,
                known,
                device,
                self.wanted,
                self.screen,
                self.leading,
                self.options.allowed,
            )
        return self._project

    def check(self, path: str, data: bytes | None = None) -> FileFacts:
        """Return the facts of one file. It recurses deeply: see `with_deep_stack`."""
        if data is None:
            try:
                data = files.read(path)
            except OSError as error:
                return unreadable(path, f"cannot be read: {error.strerror or error}")
        project = self.project  # which imports libcst as `load` does
        from asyncguard.lint.report import file as facts

        return facts.of_source(data, path, project)

    def newly_asked(self) -> set[tuple[str, str]]:
        """Return which files asked for which others, beyond what was returned before."""
        new = self.screen.asked - self._told
        self.screen.asked.clear()
        self._told |= new
        return new


def _in_one_chunk(work: Callable[[], T]) -> T:
    """Return what `work` does, with all its frames in one piece of memory.

    From Python 3.11 on, frames lie in chunks of 16 KiB. A call that finds no room maps a new chunk
    and unmaps it as it returns. An interpreter of trees crosses the boundaries of chunks all the
    time, and spent a tenth of its time on that. A chunk grows to the next power of two that holds
    its first frame. The frame of this function takes half of a chunk of 32 MiB; the other half is
    free for all that `work` calls. Pages that nothing touches take no memory.
    """
    return work()


_in_one_chunk.__code__ = _in_one_chunk.__code__.replace(co_stacksize=ROOM)


def with_deep_stack(work: Callable[[], T]) -> T:
    """Run `work` in a thread with a large stack, and return what it returns, or raise it.

    The interpreter's own limit stays raised: lowering it would end what other threads check.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def fulfil() -> None:
        try:
            results.append(_in_one_chunk(work))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            errors.append(error)

    sys.setrecursionlimit(max(sys.getrecursionlimit(), FRAMES))
    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=fulfil)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


_worker: Worker | None = None


def start(
    modules: dict[str, str],
    options: Options,
    leading: Leading | None,
    share: Sequence[Sequence[str]],
) -> None:
    """Begin a worker process, whose share are these chunks of files."""
    global _worker
    wanted = frozenset(path for chunk in share for path in chunk)
    _worker = Worker(modules, options, wanted, leading)


class Checked(NamedTuple):
    """What a chunk of files told, and which files asked for which others: paths."""

    facts: list[FileFacts]
    asked: set[tuple[str, str]]


def check_many(tasks: Sequence[str]) -> Checked:
    """Check a chunk of files in a worker process."""
    worker = _worker
    assert worker is not None
    with names.extended(names.own(worker.options.catalogue, worker.options.listed)):
        facts = with_deep_stack(lambda: [worker.check(path) for path in tasks])
    return Checked(facts, worker.newly_asked())
