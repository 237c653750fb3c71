"""What a package's own lines do while a case runs: how often each ran, and which waits began there.

A wait belongs to the innermost frame of the package that is under way, and there to the expression
that the frame is at (from Python 3.11 on). `direct` says that nothing but a framework and the
standard library stands between it and the wait; else another library waits in its stead. Waits of
which no hook tells, since C++ code called the operator, have `BELOW` before their api. In lines
that are asked for it is also known which expressions ran: `a or b` may leave `b` alone.
"""

from __future__ import annotations

import dis
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from asyncguard.model import SyncKind
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.adapters.torch import operators
from asyncguard.runtime.frames import Rank
from asyncguard.runtime.hub import hub
from asyncguard.runtime.registry import registry
from asyncguard.runtime.simulated import MARK
from asyncguard.runtime.sinks import Event, Sink
from asyncguard.runtime.sites import Site, rank_as_before, rank_as_users, ranks
from benchmarks.truth.joined import BELOW

OPERATORS = operators.__file__
# Where torch itself computes in Python, by other ways on a device: optimizers of many parameters.
COMPUTING = [Path(torch.__file__).parent / name for name in ("distributions", "nn", "optim")]
_Trace = Callable[[FrameType, str, Any], Any]
Asked = Mapping[str, Collection[int]]  # path -> lines whose expressions are told apart
_Range = tuple[int, int, int, int]


class Place(NamedTuple):
    """An expression of the package: lines from 1, columns from 1, as findings have them."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    direct: bool


class Own:
    """Which code is the package's: below one of its folders, and in no folder left out."""

    def __init__(self, folders: Sequence[Path], without: Sequence[str] = ()) -> None:
        self._folders = [(str(folder.resolve()) + "/", folder.name) for folder in folders]
        self.prefixes = tuple({f"{each}/" for at in folders for each in (at, at.resolve())})
        self._without = tuple(without)
        self._known: dict[str, str | None] = {}

    def beside(self, folders: Sequence[Path]) -> Own:
        """This code, and that in other folders."""
        own = map(Path, (path for path, _ in self._folders))
        return Own([*own, *folders], self._without)

    def path(self, filename: str) -> str | None:
        """The file's path from the folder's parent; None where it is not the package's."""
        if filename not in self._known:
            self._known[filename] = self._path(filename)
        return self._known[filename]

    def _path(self, filename: str) -> str | None:
        real = os.path.realpath(filename)
        for folder, name in self._folders:
            if real.startswith(folder):
                path = f"{name}/{real.removeprefix(folder)}"
                return None if path.startswith(self._without) else path
        return None


class Waits(Sink):
    """Counts waits by place; those for values of the host, which would be waits on a device, too.

    Without a simulation each wait is real: the backend is an asynchronous one.

    `waits`: (place, api, kind) -> how often, and in how many steps. `host`: the same places where
    the value was the host's. `enqueued`: how many kernels the device was given.
    """

    def __init__(self, own: Own, *, simulated: bool = True) -> None:
        self._own = own
        self._simulated = simulated
        self._places: dict[tuple[int, int, bool], Place] = {}
        self._kept: list[CodeType] = []  # alive, so that ids stay theirs
        self._steps: dict[tuple[Place, str, str], int] = {}
        self.begin_case()

    def begin_case(self) -> None:
        """Count from zero."""
        self.waits: Counter[tuple[Place, str, str]] = Counter()
        self.in_steps: Counter[tuple[Place, str, str]] = Counter()
        self.host: Counter[tuple[Place, str, str]] = Counter()
        self.elsewhere: Counter[str] = Counter()
        self.enqueued = 0
        self.step = 0
        self._steps.clear()

    def begin(self) -> Place | None:
        """The place that is about to wait."""
        direct = True
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            path = self._own.path(code.co_filename)
            if path is not None:
                return self._place(path, frame, direct)
            direct = direct and ranks(code) is not Rank.LIBRARY
            frame = frame.f_back
        return None

    enter = begin

    def end(self, site: Site, began: Place | None) -> None:
        """A wait is over."""
        api, kind = site.blocker.point.id, site.blocker.point.kind.value
        if began is None:
            self.elsewhere[api] += not site.blocker.stand_in
            return
        if self._is_below():
            api = BELOW + api
        key = began, api, kind
        if self._simulated and not site.blocker.device.endswith(MARK):
            self.host[key] += site.blocker.stand_in
            return
        self.waits[key] += 1
        if self._steps.get(key) != self.step:
            self._steps[key] = self.step
            self.in_steps[key] += 1

    def part(self, site: Site, began: Place | None) -> Place | None:
        """A read inside a composite call, told when that is over."""
        return began

    def leave(self, site: Site, entered: Place | None, parts: Sequence[Place | None]) -> None:
        """A call is over that waited where something inside did."""
        if parts or site.blocker.point.kind is not SyncKind.COMPOSITE:
            self.end(site, entered)

    apart = end

    def event(self, event: Event) -> None:
        """The device is given work."""
        self.enqueued += event.kind == "enqueue"

    def mark(self, source: object | None) -> None:
        """A step ends."""
        self.step += 1

    @staticmethod
    def _is_below() -> bool:
        """Whether the trace's dispatch mode reports, and no hook."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and ranks(frame.f_code) is Rank.SELF:
            if frame.f_code.co_filename == OPERATORS:
                return True
            frame = frame.f_back
        return False

    def _place(self, path: str, frame: FrameType, direct: bool) -> Place:
        key = id(frame.f_code), frame.f_lasti, direct
        place = self._places.get(key)
        if place is None:
            self._kept.append(frame.f_code)
            position = _position(frame.f_code, frame.f_lasti)
            line = frame.f_lineno or 0
            place = Place(path, *(position or (line, 0, line, 0)), direct)
            self._places[key] = place
        return place


def _position(code: CodeType, instruction: int) -> _Range | None:
    """The expression that an instruction belongs to; None where Python keeps no columns.

    A jump that asks for a truth belongs to all of its `if`: asked is what came just before it.
    """
    positions = getattr(code, "co_positions", None)
    if positions is None or instruction < 0:
        return None
    at = instruction // 2
    if "JUMP" in dis.opname[code.co_code[instruction]]:
        at -= 1
        while at > 0 and dis.opname[code.co_code[2 * at]] in ("CACHE", "EXTENDED_ARG", "COPY"):
            at -= 1
    line, end, column, end_column = next(islice(positions(), at, None))
    if None in (line, end, column, end_column):
        return None
    return line, column + 1, end, end_column + 1


class Lines:
    """Counts how often each line of the package runs, in all threads.

    `instructions`: those that ran in the lines that are asked for, by file.
    """

    def __init__(self, own: Own, asked: Asked) -> None:
        self._own = own
        self._asked = asked
        self._traced: dict[int, _Trace | None] = {}  # by the id of a code object
        self._kept: list[CodeType] = []  # alive, so that ids stay theirs
        self.ran: dict[str, dict[int, int]] = {}
        self.instructions: dict[str, set[tuple[CodeType, int]]] = {}

    def begin_case(self) -> None:
        """Count from zero."""
        for seen in (*self.ran.values(), *self.instructions.values()):
            seen.clear()

    def expressions(self) -> dict[str, list[_Range]]:
        """The expressions that ran in the lines that are asked for, by file."""
        instructions = {path: set(ran) for path, ran in dict(self.instructions).items()}
        return {
            path: sorted({at for place in ran if (at := _position(*place)) is not None})
            for path, ran in instructions.items()
            if ran
        }

    def seen(self) -> dict[str, list[tuple[int, int]]]:
        """How often each line ran, by file. (Threads that the case has left behind count on.)"""
        ran = {path: dict(counts) for path, counts in dict(self.ran).items()}
        return {path: sorted(counts.items()) for path, counts in ran.items() if counts}

    def __enter__(self) -> Lines:
        """Begin to count, from zero."""
        self.begin_case()
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]  # None is allowed

    def _call(self, frame: FrameType, event: str, argument: Any) -> _Trace | None:
        try:
            trace = self._traced[id(frame.f_code)]
        except KeyError:
            trace = self._traced[id(frame.f_code)] = self._trace_of(frame.f_code)
        if isinstance(trace, _Closely):
            frame.f_trace_opcodes = True
        return trace

    def _trace_of(self, code: CodeType) -> _Trace | None:
        self._kept.append(code)
        path = self._own.path(code.co_filename)
        if path is None:
            return None
        counts = self.ran.setdefault(path, {})
        asked = {line for *_, line in code.co_lines()}.intersection(self._asked.get(path, ()))
        if asked:
            return _Closely(counts, asked, self.instructions.setdefault(path, set()))
        return _counting(counts)


def _counting(counts: dict[int, int]) -> _Trace:
    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            number = frame.f_lineno
            counts[number] = counts.get(number, 0) + 1
        return line

    return line


class _Closely:
    """Counts lines, and notes instructions in some of them."""

    def __init__(
        self, counts: dict[int, int], asked: set[int], ran: set[tuple[CodeType, int]]
    ) -> None:
        self._count = _counting(counts)
        self._asked = asked
        self._ran = ran

    def __call__(self, frame: FrameType, event: str, argument: Any) -> _Closely:
        if event == "opcode":
            if frame.f_lineno in self._asked:
                self._ran.add((frame.f_code, frame.f_lasti))
        else:
            self._count(frame, event, argument)
        return self


class Collector:
    """Both, of one case after the other."""

    def __init__(self, own: Own, asked: Asked, *, simulated: bool = True) -> None:
        self.waits = Waits(own, simulated=simulated)
        self._simulated = simulated
        self._prefixes = own.prefixes
        self.lines = Lines(own, asked)
        self.all_lines = Lines(own.beside(COMPUTING), {})

    def __enter__(self) -> Collector:
        self.waits.begin_case()
        with ExitStack() as undo:
            registry.acquire(None, _no_clock)
            undo.callback(registry.release, None, _no_clock)
            hub.add(self.waits)
            undo.callback(hub.remove, self.waits)
            hub.add_marked(self.waits)
            undo.callback(hub.remove_marked, self.waits)
            # A framework's own waits are no business of its users', but of who looks at it.
            own = tuple(each for each in self._prefixes if ranks.rank_of(each) is Rank.FRAMEWORK)
            rank_as_users(own)
            undo.callback(rank_as_before, own)
            self._undo = undo.pop_all()
        self._undo.callback(registry.each(self._deepen))
        self._undo.enter_context(self.lines)
        return self

    def _deepen(self, adapter: Adapter) -> None:
        """Look below Python where that can be done, also where a case imports the framework."""
        leave = adapter.deepen()
        if leave is not None:
            self._undo.callback(leave)

    def __exit__(self, *error: object) -> None:
        self._undo.close()

    def seen(self) -> dict[str, Any]:
        """What the case did, as JSON."""
        waits = self.waits
        return {
            "enqueued": waits.enqueued if self._simulated else 1,
            "steps": waits.step,
            "lines": self.lines.seen(),
            "expressions": self.lines.expressions(),
            "waits": list(_rows(waits.waits, waits.in_steps)),
            "host": list(_rows(waits.host, Counter())),
            "elsewhere": dict(sorted(waits.elsewhere.items())),
            "faults": list(hub.faults),
        }


def _rows(
    counts: Counter[tuple[Place, str, str]], steps: Counter[tuple[Place, str, str]]
) -> Iterator[list[Any]]:
    for key, count in sorted(counts.items()):
        if count:
            place, api, kind = key
            yield [*place, api, kind, count, steps[key]]


def _no_clock() -> int:
    return 0
