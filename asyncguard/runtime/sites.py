"""Where waits happen: a `Blocker` is an API on one device, a `Site` a blocker at a line.

A wait inside a library has the user's line and the library's, which is where it could be helped.
A line that is reached by several call paths has a `Site` for each; the first of them, their `home`,
stands for the line, and the recorder counts by it.

All are interned: one object for each, compared and hashed by identity, so that the hot path is
two dictionary hits. Hooks look sites up here.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

from asyncguard.catalogue import SyncPoint
from asyncguard.runtime.callers import NOT_TOLD_APART, Callers, Frames, Way
from asyncguard.runtime.frames import Rank, Ranks, charged, line_of, nearest, outwards, qualname

ranks = Ranks()  # of the whole process: frames are what they are in every session
callers = Callers(ranks)
_blockers: weakref.WeakSet[Blocker] = weakref.WeakSet()
MOST_PATHS = 256  # of one line
MOST_LIBRARY_FRAMES = 16  # between the user's line and the wait


class Site:
    """One line at which one API waits for one device, reached by one call path.

    `library` are the frames of libraries between the line and the wait, `callers` who called the
    line's function; both innermost first.
    """

    __slots__ = (
        "_allowances", "_paths", "blocker", "callers", "function", "home", "library", "line",
        "path", "reason", "way",
    )  # fmt: skip

    def __init__(
        self,
        blocker: Blocker,
        path: str,
        line: int,
        function: str,
        callers: Frames,
        reason: str | None = None,
        library: Frames = (),
        home: Site | None = None,
    ) -> None:
        self.blocker = blocker
        self.path = path
        self.line = line
        self.function = function
        self.callers = callers
        self.reason = reason  # why `allow_syncs` lets it wait
        self.library = library
        self.home = home or self
        self.way: Way | None = None  # how it was reached the last time; None: look
        self._allowances: dict[str, Site] | None = None
        self._paths: dict[tuple[Frames, Frames], Site] | None = None

    def allowed(self, reason: str) -> Site:
        """The same line where `allow_syncs(reason)` covers it; counted apart."""
        if self._allowances is None:
            self._allowances = {}
        site = self._allowances.get(reason)
        if site is None:
            home = None if self.home is self else self.home.allowed(reason)
            made = self._alike(self.library, self.callers, reason, home)
            site = self._allowances.setdefault(reason, made)
        return site

    def by(self, library: Frames, callers: Frames) -> Site:
        """The same line reached by another call path."""
        if self.library == library and self.callers == callers:
            return self
        if self._paths is None:
            self._paths = {}
        site = self._paths.get((library, callers))
        if site is None:
            if len(self._paths) >= MOST_PATHS:
                library, callers = self.library[:1], NOT_TOLD_APART
            made = self._alike(library, callers, self.reason, self)
            site = self._paths.setdefault((library, callers), made)
        return site

    def _alike(
        self, library: Frames, callers: Frames, reason: str | None, home: Site | None
    ) -> Site:
        place = self.blocker, self.path, self.line, self.function
        return Site(*place, callers, reason, library, home)


class Blocker:
    """One API of the catalogue on one device.

    `stand_in` says that the device is the CPU in an accelerator's stead. With `users_only` the
    framework's own calls are not the user's waits, except those in `internals` (module names).
    Below a frame that `loads_data` nobody waits. `times` says how often a call waits, where that is
    not once. `why` is the reason why a copy waits that was told not to.
    """

    __slots__ = (
        "__weakref__", "cache", "device", "internals", "is_collective", "loads_data",
        "on_accelerator", "point", "sites", "stand_in", "times", "users_only", "why",
    )  # fmt: skip

    def __init__(
        self,
        point: SyncPoint,
        device: str,
        stand_in: bool,
        on_accelerator: bool = False,
        users_only: bool = False,
        internals: tuple[str, ...] = (),
        loads_data: Callable[[FrameType], bool] | None = None,
        times: Callable[[tuple[Any, ...], dict[str, Any]], int] | None = None,
        why: str | None = None,
    ) -> None:
        self.point = point
        self.is_collective = point.waits_for == "ranks"
        self.device = device
        self.stand_in = stand_in
        self.on_accelerator = on_accelerator
        self.users_only = users_only
        self.internals = internals
        self.loads_data = loads_data
        self.times = times
        self.why = why
        # (path, function) -> line, with the innermost frame of a library where there is one -> site
        self.sites: dict[tuple[str, str], dict[int | tuple[int, str], Site]] = {}
        # (id(code), f_lasti) of the caller -> the site, and how it was reached the last time
        self.cache: dict[tuple[int, int], Site | None] = {}
        _blockers.add(self)

    def site(self, frame: FrameType | None) -> Site | None:
        """The site to charge for a wait called from `frame`; None where it is not the user's."""
        if frame is None:
            lines = self.sites.setdefault(("<unknown>", ""), {})
            return lines.setdefault(0, Site(self, "<unknown>", 0, "", ()))
        key = id(frame.f_code), frame.f_lasti
        site = self.cache.get(key)
        if site is None and key not in self.cache:
            return self._locate(frame)
        if site is None or (site.way is not None and site.way.leads_to(frame)):
            return site
        return self._locate(frame)

    def _locate(self, frame: FrameType) -> Site | None:
        if self.loads_data is not None and any(map(self.loads_data, outwards(frame))):
            return None
        user = charged(frame, ranks)
        if self._is_internal(frame) or user is None:
            # Where the caller only stands in between, another call from there may be a user's.
            if ranks(frame.f_code) is Rank.FRAMEWORK and ranks.keep(frame.f_code):
                self.cache[id(frame.f_code), frame.f_lasti] = None
            return None
        code = user.f_code
        line = line_of(user, ranks)
        library = () if user is frame else _library(frame, user)
        way, path = callers.way_to(frame if library else user, user)
        lines = self.sites.setdefault((code.co_filename, qualname(code)), {})
        key = (line, library[0]) if library else line
        home = lines.get(key)
        if home is None:
            place = self, sys.intern(code.co_filename), line, qualname(code)
            home = lines.setdefault(key, Site(*place, path, library=library))
        site = home.by(library, path)
        # A library's line is known again where its callers lead to a user's: that is compared.
        exact = user is frame or (library and ranks(code) is Rank.USER)
        if exact and ranks.keep(frame.f_code):
            site.way = way
            self.cache[id(frame.f_code), frame.f_lasti] = site
        return site

    def _is_internal(self, frame: FrameType) -> bool:
        if not self.users_only:
            return False
        caller = nearest(frame, ranks)
        if caller is None or ranks(caller.f_code) is not Rank.FRAMEWORK:
            return False
        module = caller.f_globals.get("__name__", "")
        return not any(module == name or module.startswith(name + ".") for name in self.internals)


def _library(frame: FrameType, user: FrameType) -> Frames:
    """The frames of libraries and frameworks between a wait and the line it is charged to."""
    found: list[str] = []
    for each in outwards(frame):
        if each is user or len(found) == MOST_LIBRARY_FRAMES:
            break
        if ranks(each.f_code) in (Rank.LIBRARY, Rank.FRAMEWORK):
            found.append(callers.entry(each))
    return tuple(found)


def rank_as_users(prefixes: tuple[str, ...]) -> None:
    """Code of files whose names begin so ranks as the user's, until `rank_as_before`."""
    _rank_anew((*ranks.users, *prefixes))


def rank_as_before(prefixes: tuple[str, ...]) -> None:
    """Take back one `rank_as_users` of the same."""
    left = list(ranks.users)
    for prefix in prefixes:
        left.remove(prefix)
    _rank_anew(tuple(left))


def _rank_anew(users: tuple[str, ...]) -> None:
    """Change whose code is the user's, and forget the sites that were charged by another rank."""
    ranks.set_users(users)
    callers.forget_ways()
    for blocker in list(_blockers):
        blocker.cache.clear()
