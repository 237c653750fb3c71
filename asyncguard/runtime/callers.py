"""Who asked: the call path by which a program came to a line, found without a walk at each wait.

Going through a whole stack takes longer than many waits. So the `NEAREST` callers stand for all
above them, and every so often the whole stack is looked at again. Where they turn out to be reached
in several ways, the whole stack is looked at for each wait from then on; what had been counted
by then, at most `LONGEST` waits, stays with the way that was known.
"""

from __future__ import annotations

from itertools import islice
from types import CodeType, FrameType

from asyncguard.runtime.frames import (
    MAX_CODES,
    Rank,
    Ranks,
    line_of,
    of_the_program,
    outwards,
    qualname,
)

Frames = tuple[str, ...]  # "path:line function", innermost first
Stack = tuple[CodeType | int, ...]

NEAREST = 3  # callers that are compared at each wait
MOST_FRAMES = 32  # of one call path; the outermost are cut
MOST_PATHS = 16_384  # of the process; callers beyond are not told apart
LONGEST = 64  # waits between two looks at the whole stack
MOST_KEPT = 64  # callers that are compared at a look
NOT_TOLD_APART: Frames = ("other callers",)


class _Top:
    """Stands for the callers that a short stack does not have."""

    f_lasti = -1
    f_code: CodeType | None = None
    f_back: _Top


TOP = _Top()
TOP.f_back = TOP


class Way:
    """The instructions of the nearest callers, and the call path that they are the end of.

    They are `NEAREST` callers; of a wait within a library as many as it takes to the user's line,
    which is not to be taken for granted. `flat` are instruction and code of each, in one tuple,
    `TOP`'s where there are fewer; None where there are more.

    `left` says for how many more waits that may be taken for granted; for good 0 where several
    call paths end with these. Then it is enough that the whole stack is as it was at the last look.
    """

    __slots__ = ("_nearest", "_several", "_stride", "beyond", "callers", "flat", "left")

    def __init__(self, nearest: tuple[tuple[CodeType, int], ...], callers: Frames) -> None:
        self._nearest = nearest
        missing = (TOP.f_lasti, TOP.f_code) * (NEAREST - len(nearest))
        self.flat: tuple[int | CodeType | None, ...] | None = None
        if len(nearest) <= NEAREST:
            self.flat = (*(part for code, at in nearest for part in (at, code)), *missing)
        self.callers = callers
        self.left = self._stride = 1
        self._several = False
        self.beyond: Stack | None = None  # the callers beyond the nearest at the last look

    def leads_to(self, frame: FrameType) -> bool:
        """Whether `frame` was called from here, as far as can be told without a look."""
        if not self.left and (self._several or self.beyond is None):
            return False  # other lines know a way of several call paths by an earlier one
        back: FrameType | None = frame
        for code, instruction in self._nearest:
            back = back.f_back  # type: ignore[union-attr]  # there are as many, or we return
            if back is None or back.f_lasti != instruction or back.f_code is not code:
                return False
        if not self.left:
            if self.beyond != stack_above(back):
                return False
            self.looked(self.callers)  # all callers are where they were
        self.left -= 1
        return True

    def looked(self, callers: Frames) -> None:
        """The whole stack was looked at."""
        if callers is not self.callers:
            self._several = True
            self.callers = callers
        self._stride = 0 if self._several else min(2 * self._stride, LONGEST)
        self.left = self._stride


def stack_above(frame: FrameType | None) -> Stack | None:
    """Code and instruction of all callers; None where there are more than `MOST_KEPT`."""
    callers = list(islice(outwards(frame and frame.f_back), MOST_KEPT + 1))
    if len(callers) > MOST_KEPT:
        return None
    return tuple([part for f in callers for part in (f.f_code, f.f_lasti)])


class Callers:
    """The call paths of the process, each known once."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._ways: dict[tuple[int, ...], Way] = {}  # by what the nearest callers are at
        self._paths: dict[tuple[int, ...], Frames] = {}  # by the codes and instructions
        self._known: dict[Frames, Frames] = {}  # several instructions may be on one line
        self._entries: dict[tuple[int, int], str] = {}
        self._beyond: Stack | None = None  # that the last way was given: many share it

    def way_to(self, frame: FrameType, user: FrameType) -> tuple[Way, Frames]:
        """The way by which `frame` was called, and the call path of `user` as of now.

        `user` is the frame that what `frame` does is charged to: itself, or a caller.
        """
        depth = next(at for at, f in enumerate(outwards(frame)) if f is user)
        nearest = list(islice(outwards(frame.f_back), max(NEAREST, depth)))
        key = (depth, *[number for f in nearest for number in (id(f.f_code), f.f_lasti)])
        way = self._ways.get(key)
        if way is not None and way.leads_to(frame):
            return way, way.callers
        callers = self._look(user)
        if way is not None:
            way.looked(callers)
        else:
            way = Way(tuple([(f.f_code, f.f_lasti) for f in nearest]), callers)
            if self._are_kept(nearest) and len(self._ways) < MOST_PATHS:
                self._ways[key] = way
        beyond = stack_above(nearest[-1]) if nearest else ()
        if beyond != self._beyond:
            self._beyond = beyond
        way.beyond = self._beyond
        return way, callers

    def forget_ways(self) -> None:
        """Look again at who calls whom: other frames count as the program's now."""
        self._ways.clear()

    def entry(self, frame: FrameType) -> str:
        """A frame as call paths show it: "path:line function"."""
        code = frame.f_code
        key = id(code), frame.f_lasti
        found = self._entries.get(key)
        if found is None:
            found = f"{code.co_filename}:{line_of(frame, self._ranks)} {qualname(code)}"
            if len(self._entries) < MAX_CODES and self._ranks.keep(code):
                self._entries[key] = found
        return found

    def _look(self, frame: FrameType) -> Frames:
        """The user's and third-party frames that called `frame`.

        Third-party ones outside of all of the user's run the program, as a notebook's kernel or a
        test runner does: they are not part of it.
        """
        ranks = self._ranks
        program = (f for f in of_the_program(frame.f_back) if ranks(f.f_code) <= Rank.LIBRARY)
        frames = list(islice(program, MOST_FRAMES))
        own = [at for at, f in enumerate((frame, *frames)) if ranks(f.f_code) < Rank.LIBRARY]
        if own:
            del frames[own[-1] :]
        if not self._are_kept(frames):
            return self._told_apart(tuple(map(self.entry, frames)))
        key = tuple([number for f in frames for number in (id(f.f_code), f.f_lasti)])
        found = self._paths.get(key)
        if found is None:
            found = self._told_apart(tuple(map(self.entry, frames)))
            if len(self._paths) < MOST_PATHS:
                self._paths[key] = found
        return found

    def _are_kept(self, frames: list[FrameType]) -> bool:
        return all(self._ranks.keep(frame.f_code) for frame in frames)

    def _told_apart(self, callers: Frames) -> Frames:
        if callers in self._known or len(self._known) < MOST_PATHS:
            return self._known.setdefault(callers, callers)
        return NOT_TOLD_APART
