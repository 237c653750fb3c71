"""Two traces of one program side by side: before a change and after it.

Sites are matched as the gate matches them (`compare`), so lines may move and functions be renamed.
Figures are a step's where both traces have steps, else the whole run's; so are those of a site that
waits outside the steps only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from asyncguard.gate import basis
from asyncguard.gate.baseline import SiteKey, site_key
from asyncguard.gate.compare import matched
from asyncguard.model import SiteStats, TraceRecord


class Figures(NamedTuple):
    """What one site, or all, did in a step (or run): waits, and nanoseconds blocked in them."""

    waits: float
    stall_ns: float


NONE = Figures(0.0, 0.0)


class Side(NamedTuple):
    """One trace: its totals a step, the time of a step in nanoseconds, and how many there were.

    `step_ns` is the run's duration where a trace has no steps.
    """

    total: Figures
    step_ns: float
    steps: int


class Expectation(NamedTuple):
    """The step time that replay of the trace before predicts, and its range, in nanoseconds."""

    step_ns: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True)
class SiteChange:
    """One site: `site` as it is after, or as it was where it is gone.

    `numbers` are its indices in the trace before; several where several threads waited there.
    `unit` is "step", or "run" where it waits outside the steps only.
    """

    site: SiteStats
    before: Figures
    after: Figures
    numbers: tuple[int, ...] = ()
    unit: str = "step"

    @property
    def state(self) -> str:
        """`new`, `gone`, `more`, `fewer` or `same`, by the number of waits."""
        if not self.numbers:
            return "new"
        if not self.after.waits:
            return "gone"
        if abs(self.after.waits - self.before.waits) <= 0.005 * self.before.waits:
            return "same"
        return "more" if self.after.waits > self.before.waits else "fewer"


@dataclass(frozen=True)
class Difference:
    """The sites, those of the steps and what changed most in stall first, and the traces' totals.

    `unit` is "step" or "run". `expected` is None where nothing could be predicted.
    """

    before: Side
    after: Side
    sites: tuple[SiteChange, ...]
    unit: str
    expected: Expectation | None = None


def difference(
    before: TraceRecord,
    after: TraceRecord,
    names: tuple[str, str] = ("the trace before", "the trace after"),
) -> Difference:
    """Put two traces side by side; raises AsyncguardError where they cannot be compared."""
    remedy = "record both in the same way"
    basis.require_same(names[0], basis.of(before), names[1], basis.of(after), remedy)
    by_step = bool(before.step_count and after.step_count)
    old, new = _by_key(before), _by_key(after)
    pairs = matched(new, old)
    changes = [
        _change(before, after, old.get(pairs[key], ()) if key in pairs else (), sites, by_step)
        for key, sites in new.items()
    ]
    gone = [sites for key, sites in old.items() if key not in set(pairs.values())]
    changes += [_change(before, after, sites, (), by_step) for sites in gone]
    changes.sort(key=_order)
    return Difference(
        _side(before, by_step), _side(after, by_step), tuple(changes), "step" if by_step else "run"
    )


def _order(change: SiteChange) -> tuple[bool, float]:
    return change.unit == "run", -abs(change.after.stall_ns - change.before.stall_ns)


Numbered = tuple[tuple[int, SiteStats], ...]


def _by_key(record: TraceRecord) -> Mapping[SiteKey, Numbered]:
    """The sites by what they are recognised by; a site of several threads is one."""
    groups: dict[SiteKey, list[tuple[int, SiteStats]]] = defaultdict(list)
    for number, site in enumerate(record.sites):
        groups[site_key(site, record.root)].append((number, site))
    return {key: tuple(group) for key, group in groups.items()}


def _change(
    before: TraceRecord, after: TraceRecord, old: Numbered, new: Numbered, by_step: bool
) -> SiteChange:
    site = (new or old)[0][1]
    numbers = tuple(number for number, _ in old)
    was, now = _figures(before, old, by_step), _figures(after, new, by_step)
    if by_step and not was.waits and not now.waits:
        return _change(before, after, old, new, by_step=False)
    return SiteChange(site, was, now, numbers, "step" if by_step else "run")


def _figures(record: TraceRecord, sites: Numbered, by_step: bool) -> Figures:
    group = [site for _, site in sites]
    count, stall = sum(s.count for s in group), sum(s.cpu_stall_ns for s in group)
    if not by_step:
        return Figures(float(count), float(stall))
    return Figures(
        record.per_step(count, sum(s.steady_count for s in group)) or 0.0,
        record.per_step(stall, sum(s.steady_stall_ns for s in group)) or 0.0,
    )


def _side(record: TraceRecord, by_step: bool) -> Side:
    total = _figures(record, tuple(enumerate(record.sites)), by_step)
    whole = record.duration_ns
    step = record.per_step(whole, record.steady_duration_ns) if by_step else whole
    return Side(total, step or 0.0, record.steady_steps or record.step_count)
