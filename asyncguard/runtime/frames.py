"""Whose line is it: from a hook's frame to the user's own.

A wait is charged to the nearest frame that is neither in asyncguard, nor in a framework, nor in
the standard library, nor in an installed third-party package, if there is one; else to the
nearest frame of code without a file (`<string>`), else to the nearest third-party one, else to the
nearest of a framework, else to the nearest at all: a thread that a framework starts begins in
`threading`, which says nothing.
"""

from __future__ import annotations

import bisect
import enum
import linecache
import os
import sys
import sysconfig
from array import array
from collections.abc import Iterator
from itertools import takewhile
from types import CodeType, FrameType

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LAUNCHER = os.path.join(_HERE, "runtime", "launch.py")  # what calls it started the program
_STDLIB = tuple(
    {os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")}
    | {sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")}
    | {os.path.dirname(os.__file__) + os.sep}
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
LONG_CODE = 1024  # bytes of a function's line numbers; longer ones are turned into a table
MAX_CODES = 65_536  # code objects that caches may keep alive


class Rank(enum.IntEnum):
    """How well a frame serves as the place that waited; the lowest rank wins."""

    USER = 0
    PSEUDO = 1  # code without a file: exec, generated methods of dataclasses
    LIBRARY = 2
    FRAMEWORK = 3
    PLUMBING = 4  # the standard library
    SELF = 5  # asyncguard: never


class Ranks:
    """Ranks code objects, each once. Framework directories may be added as they are imported."""

    def __init__(self) -> None:
        self._frameworks: tuple[str, ...] = ()
        self._users: tuple[str, ...] = ()  # how files begin that are to rank as the user's
        self._ranks: dict[int, Rank] = {}
        self._kept: dict[int, CodeType] = {}  # alive, so that ids stay theirs
        self.line_tables: dict[int, tuple[array[int], array[int]]] = {}  # of some of these

    def add_framework(self, directory: str) -> None:
        """Code below `directory` belongs to a framework from now on."""
        prefix = directory.rstrip(os.sep) + os.sep
        if prefix not in self._frameworks:
            self._frameworks += (prefix,)
            self._ranks = {}

    def set_users(self, prefixes: tuple[str, ...]) -> None:
        """Code of files whose names begin so ranks as the user's from now on, and no other's."""
        self._users = prefixes
        self._ranks = {}

    @property
    def users(self) -> tuple[str, ...]:
        """The prefixes last given to `set_users`."""
        return self._users

    def __call__(self, code: CodeType) -> Rank:
        key = id(code)
        rank = self._ranks.get(key)
        if rank is None:
            rank = self.rank_of(code.co_filename)
            if self.keep(code):
                self._ranks[key] = rank
        return rank

    def keep(self, code: CodeType) -> bool:
        """Whether `id(code)` may serve as a key: the code object stays alive with us.

        A program that compiles code for ever fills the table; what comes later is not cached.
        """
        if len(self._kept) < MAX_CODES:
            self._kept[id(code)] = code
        return id(code) in self._kept

    def rank_of(self, filename: str) -> Rank:
        """The rank of code from this file."""
        if filename.startswith("<frozen "):
            return Rank.PLUMBING
        if filename.startswith("<") and not linecache.getlines(filename):
            return Rank.PSEUDO
        if filename.startswith(_HERE):
            return Rank.SELF
        if filename.startswith(self._users):
            return Rank.USER
        if filename.startswith(self._frameworks):
            return Rank.FRAMEWORK
        if any(part in filename for part in _INSTALLED):
            return Rank.LIBRARY
        return Rank.PLUMBING if filename.startswith(_STDLIB) else Rank.USER


def charged(frame: FrameType | None, ranks: Ranks) -> FrameType | None:
    """The frame that a wait in `frame` is charged to; None only where there is no frame."""
    best: FrameType | None = None
    best_rank = Rank.SELF
    while frame is not None:
        rank = ranks(frame.f_code)
        if rank is Rank.USER:
            return frame
        if rank < best_rank:
            best, best_rank = frame, rank
        frame = frame.f_back
    return best


def nearest(frame: FrameType | None, ranks: Ranks) -> FrameType | None:
    """The first frame outside asyncguard."""
    while frame is not None and ranks(frame.f_code) is Rank.SELF:
        frame = frame.f_back
    return frame


def line_of(frame: FrameType, ranks: Ranks) -> int:
    """The line that a frame is at, 0 where none is known.

    Python goes through the lines of a function from its first to tell; of a long one we keep a
    table.
    """
    code = frame.f_code
    if len(code.co_linetable) < LONG_CODE or not ranks.keep(code):
        return frame.f_lineno or 0
    table = ranks.line_tables.get(id(code))
    if table is None:
        starts, lines = array("L"), array("L")
        for start, _, line in code.co_lines():
            if not lines or lines[-1] != (line or 0):
                starts.append(start)
                lines.append(line or 0)
        table = ranks.line_tables[id(code)] = starts, lines
    return table[1][bisect.bisect_right(table[0], max(frame.f_lasti, 0)) - 1]


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """The frame, who called it, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def of_the_program(frame: FrameType | None) -> Iterator[FrameType]:
    """The same, up to where `asyncguard run` started the program."""
    return takewhile(lambda each: each.f_code.co_filename != _LAUNCHER, outwards(frame))


if sys.version_info >= (3, 11):

    def qualname(code: CodeType) -> str:
        """`Class.method`, as `__qualname__` says."""
        return code.co_qualname

else:

    def qualname(code: CodeType) -> str:
        """The bare name: Python 3.10 keeps no more in a code object."""
        return code.co_name
