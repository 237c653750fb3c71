"""Where waits happen: a `Blocker` is an API on one device, a `Site` a blocker at a line.

Both are interned: one object for each, compared and hashed by identity, so that the hot path is
two dictionary hits. Hooks look sites up here; the recorder counts by them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from asyncguard.catalogue import SyncPoint
from asyncguard.runtime.frames import (
    Rank,
    Ranks,
    callers,
    charged,
    line_of,
    nearest,
    outwards,
    qualname,
)

ranks = Ranks()  # of the whole process: frames are what they are in every session


class Site:
    """One line at which one API waits for one device."""

    __slots__ = ("_allowances", "blocker", "callers", "function", "line", "path", "reason")

    def __init__(
        self,
        blocker: Blocker,
        path: str,
        line: int,
        function: str,
        callers: tuple[str, ...],
        reason: str | None = None,
    ) -> None:
        self.blocker = blocker
        self.path = path
        self.line = line
        self.function = function
        self.callers = callers
        self.reason = reason  # why `allow_syncs` lets it wait
        self._allowances: dict[str, Site] | None = None

    @property
    def own(self) -> tuple[str, ...]:
        """The line itself as the innermost of a stack, "path:line function"; empty if unknown."""
        return (f"{self.path}:{self.line} {self.function}",) if self.line else ()

    @property
    def stack(self) -> tuple[str, ...]:
        """The line itself and its callers, innermost first."""
        return (*self.own, *self.callers)

    def allowed(self, reason: str) -> Site:
        """The same line where `allow_syncs(reason)` covers it; counted apart."""
        if self._allowances is None:
            self._allowances = {}
        site = self._allowances.get(reason)
        if site is None:
            made = Site(self.blocker, self.path, self.line, self.function, self.callers, reason)
            site = self._allowances.setdefault(reason, made)
        return site


class Blocker:
    """One API of the catalogue on one device.

    `stand_in` says that the device is the CPU in an accelerator's stead. With `users_only` the
    framework's own calls are not the user's waits, except those in `internals` (module names).
    Below a frame that `loads_data` nobody waits.
    """

    __slots__ = (
        "cache", "device", "internals", "loads_data", "on_accelerator", "point", "sites",
        "stand_in", "users_only",
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
    ) -> None:
        self.point = point
        self.device = device
        self.stand_in = stand_in
        self.on_accelerator = on_accelerator
        self.users_only = users_only
        self.internals = internals
        self.loads_data = loads_data
        self.sites: dict[tuple[str, str], dict[int, Site]] = {}  # (path, function) -> line -> site
        self.cache: dict[tuple[int, int], Site | None] = {}  # (id(code), f_lasti) of the caller

    def site(self, frame: FrameType | None) -> Site | None:
        """The site to charge for a wait called from `frame`; None where it is not the user's.

        Hooks look into `cache` themselves first.
        """
        return self._locate(frame) if frame is not None else self._intern("<unknown>", 0, "", ())

    def site_of_caller(self, frame: FrameType | None) -> Site | None:
        """As `site`, for callers that have not looked into `cache`."""
        if frame is not None:
            site = self.cache.get((id(frame.f_code), frame.f_lasti))
            if site is not None:
                return site
        return self.site(frame)

    def _locate(self, frame: FrameType) -> Site | None:
        if self.loads_data is not None and any(map(self.loads_data, outwards(frame))):
            return None
        internal = self._is_internal(frame)
        user = None if internal else charged(frame, ranks)
        site = None
        if user is not None:
            code = user.f_code
            # The callers are looked for at new sites only; the first ones speak for all.
            lines = self.sites.setdefault((code.co_filename, qualname(code)), {})
            line = line_of(user, ranks)
            site = lines.get(line) or self._intern(
                code.co_filename, line, qualname(code), callers(user, ranks)
            )
        # Where the caller only stands in between, another call from there may be another user's.
        settled = user is frame or (internal and ranks(frame.f_code) is Rank.FRAMEWORK)
        if settled and ranks.keep(frame.f_code):
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

    def _intern(self, path: str, line: int, function: str, callers: tuple[str, ...]) -> Site:
        site = Site(self, sys.intern(path), line, function, callers)
        return self.sites.setdefault((path, function), {}).setdefault(line, site)
