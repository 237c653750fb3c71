"""What has been spent of a limit since it was entered: in its block, its step, or each unit."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from asyncguard.places import place_of
from asyncguard.runtime import units
from asyncguard.runtime.counted import Counted
from asyncguard.runtime.shells import named
from asyncguard.runtime.sites import Site
from asyncguard.runtime.steps import Pace
from asyncguard.runtime.units import STEP, Unit

Action = Literal["raise", "warn"]
ACTIONS: tuple[Action, ...] = ("raise", "warn")
SITES = 8  # named in one message


@dataclass(frozen=True)
class Terms:
    """What a limit says, as `limit_syncs` has it. Raises ValueError for what none can be."""

    count: int
    per: str | None
    after: int
    first_only: bool
    on: Action
    counted: Counted

    def __post_init__(self) -> None:
        _require_natural("count", self.count)
        _require_natural("after", self.after)
        per = self.per
        if per is not None and (not isinstance(per, str) or not per.strip()):
            raise ValueError(
                f"per must be None, 'step' or the name of a unit that step(name) marks, not {per!r}"
            )
        if self.after and per is None:
            raise ValueError("after counts steps or units: say which, as in per='token'")
        if not isinstance(self.first_only, bool):
            raise ValueError(f"first_only must be True or False, not {self.first_only!r}")
        if self.on not in ACTIONS:
            raise ValueError(f"on must be 'raise' or 'warn', not {self.on!r}")

    @property
    def unit(self) -> str | None:
        """The name of the units that it holds in, where it is neither None nor the loop's step."""
        return None if self.per == STEP else self.per


class Tally:
    """The waits of one unit, step or block that count, by site."""

    __slots__ = ("is_free", "last", "sites", "waits")

    def __init__(self, *, is_free: bool = False) -> None:
        self.is_free = is_free  # of the warm-up
        self.waits = 0
        self.sites: Counter[Site] = Counter()
        self.last: Site | None = None

    def add(self, site: Site) -> None:
        """One wait more."""
        self.waits += 1
        self.sites[site.home] += 1
        self.last = site


class Account:
    """One entry of a limit. A `units.Listener` and a `hub.Marked`.

    holds:    whether the limit holds in the calling thread and task.
    exceeded: tells of too many waits at a site, and raises where the limit is to raise.
    """

    def __init__(
        self, terms: Terms, holds: Callable[[], bool], exceeded: Callable[[str, Site], None]
    ) -> None:
        self._terms = terms
        self._holds = holds
        self._exceeded = exceeded
        self._lock = threading.Lock()
        self._pace = Pace()
        self._begun = 0  # units or steps
        self._marks = 0  # that may turn out to begin some
        self._whole = Tally()  # of the block, or its step
        if terms.unit is None:
            self._whole.is_free = self._number() < terms.after
        self._met: set[Site] = set()  # sites that have waited
        self._late: list[Unit] = []  # stretches whose lead was over the limit
        self._is_open = True
        self.has_leads = False  # waits outside of units
        self.has_others = False  # units where the limit does not hold

    def spend(self, site: Site) -> None:
        """Account for one wait that is about to happen."""
        terms = self._terms
        if not terms.counted.has(site):
            return
        around = units.under_way_as(terms.unit) if terms.unit else ()
        with self._lock:
            if terms.first_only and site.home not in self._met:
                self._met.add(site.home)
                return
            tallies = [self._tally(unit) for unit in around] if terms.unit else [self._whole]
            over = list(filter(self._is_full, tallies))
            if around and around[-1].lead_of is not None:
                self.has_leads, over = True, []
            message = _message(site, terms, over[-1], 1) if over else None
            if message is None or terms.on == "warn":
                for tally in tallies:
                    tally.add(site)
        if message is not None:
            self._exceeded(message, site)

    def mark(self, source: object | None) -> None:
        """A step ended: the next one has its own allowance."""
        if not self._holds():
            return
        with self._lock:
            if self._pace.ends_step(source):
                self._whole = Tally(is_free=self._number() < self._terms.after)

    def minds(self, name: str) -> bool:
        """As `units.Listener`."""
        if name != self._terms.unit or not self._is_open:
            return False
        holds = self._holds()
        self.has_others |= not holds
        return holds

    def marked(self, unit: Unit) -> None:
        """As `units.Listener`: keep what may be too much and never be told of."""
        lead = unit.after if unit.after is not None and unit.after.lead_of is not None else None
        tally = lead.tallies.get(self) if lead is not None else None
        with self._lock:
            self._marks += 1
            if tally is not None and tally.waits > self._terms.count:
                self._late = [*(each for each in self._late if each.fresh), unit]

    def withdrawn(self, unit: Unit) -> None:
        """As `units.Listener`."""
        with self._lock:
            self._marks -= 1

    def began(self, unit: Unit) -> None:
        """As `units.Listener`: number it. A lead may have waited too often already."""
        if not self._is_open:
            return
        with self._lock:
            tally = unit.tallies.setdefault(self, Tally())
            tally.is_free = self._number() < self._terms.after
            last = tally.last
            too_many = last and not tally.is_free and tally.waits > self._terms.count
            message = _message(last, self._terms, tally) if last and too_many else None
        if last is not None and message is not None:
            self._exceeded(message, last)

    def ended(self, unit: Unit) -> None:
        """As `units.Listener`."""

    def begin(self) -> None:
        """Hold in the units that are under way already, too."""
        for unit in units.under_way():
            if unit.name == self._terms.unit and unit.lead_of is None:
                self.began(unit)

    def close(self, *, judge: bool) -> None:
        """Nothing more is spent; `judge` whether to tell of the leads that nobody was told of."""
        try:
            for unit in self._late if judge else ():
                unit.settle()
        finally:
            self._is_open = False

    def doubts(self) -> str:
        """Why waits may have passed that nobody counted; "" where none can have."""
        name = self._terms.unit
        has_units = self._begun or self._marks
        if name is None or has_units or not (self.has_leads or self.has_others):
            return ""
        where = "waited outside of all units"
        if self.has_others:
            where = "met units only in threads and tasks that it does not hold for"
        return (
            f"per={name!r} {where}: mark each with asyncguard.step({name!r}), and put the limit"
            " around the code that does, in its thread (as a decorator of its function)."
        )

    def never_armed(self) -> str:
        """Say so where the warm-up did not end; "" where it did."""
        after, per, begun = self._terms.after, self._terms.per, self._begun
        if per == STEP and not self._whole.waits:
            begun -= 1  # nothing came after the last one
        if not after or begun > after or self.doubts():
            return ""
        return f"after={after} left nothing to limit: {begun} began (per={per!r})."

    def _number(self) -> int:
        """Number one more unit, or step."""
        self._begun += 1
        return self._begun - 1

    def _tally(self, unit: Unit) -> Tally:
        tally: Tally | None = unit.tallies.get(self)
        if tally is None:
            tally = unit.tallies[self] = Tally()
            if unit.lead_of is None:  # it began before the limit was entered, in another task
                tally.is_free = self._number() < self._terms.after
        return tally

    def _is_full(self, tally: Tally) -> bool:
        """Whether one wait more would be too many."""
        return not tally.is_free and tally.waits >= self._terms.count


def _message(site: Site, terms: Terms, tally: Tally, more: int = 0) -> str:
    """Say that a wait at `site` is too many; `more`: it is not in the tally."""
    point, per = site.blocker.point, terms.per
    place = place_of(named(site.path), site.line)
    if not terms.count and per is None:
        allowed = "none allowed here"
    else:
        sites = tally.sites + Counter({site.home: more})
        told = [_told(each, times) for each, times in sites.most_common(SITES)]
        told += [f"{len(sites) - SITES} more places"] * (len(sites) > SITES)
        most = f"at most {terms.count} allowed" if terms.count else "none allowed"
        unit = f"{'an' if per[0].lower() in 'aeiou' else 'a'} {per}" if per else ""
        waits = f"{tally.waits + more} waits in this {per or 'block'}"
        waits = waits.replace("1 waits", "1 wait") if tally.waits + more == 1 else waits
        allowed = f"{most} {unit}".rstrip() + f"; {waits}: {', '.join(told)}"
    if terms.first_only:
        allowed += "; each line's first wait is free"
    return f"{place}: {point.id} waits for the device ({allowed}): {point.advice}"


def _told(site: Site, times: int) -> str:
    place = f"{place_of(named(site.path), site.line)} {site.blocker.point.id}"
    place += f" (in {site.library[0]})" if site.library else ""
    return f"{place} x{times}" if times > 1 else place


def _require_natural(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} must be a whole number from 0 up, not {value!r}")
