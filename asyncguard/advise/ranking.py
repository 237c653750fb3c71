"""Suggestions ranked by what each saves a step, as replay predicts it. No saving counts twice.

Each is judged with all that stand above it done already, so the savings add up to what doing all
of them saves. What concerns only sites of one above is an alternative to it: its saving is told
beside, and never added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from asyncguard.advise.changes import Changes
from asyncguard.advise.replay import Prediction, Replay
from asyncguard.model import Suggestion

# Under this share of the step, a saving is lost in the noise of any real run.
NOTHING = 0.005

WHY_NOTHING = {
    "host": "Removing this saves nothing: the host is the bottleneck.",
    "device": "Removing this saves nothing: the device is the bottleneck, busy all the time.",
    "waits": "Removing this saves nothing: other waits take its place.",
}


class Candidate(NamedTuple):
    """A suggestion, and what it would change; None where that only adds waits."""

    suggestion: Suggestion
    changes: Changes | None


def ranked(replay: Replay, candidates: Iterable[Candidate]) -> tuple[Suggestion, ...]:
    """The suggestions, the largest predicted saving first; those that save nothing come last."""
    found = list(candidates)
    alone = {id(c): replay.predict(c.changes).saving_ns for c in found if c.changes is not None}
    order = sorted(found, key=lambda candidate: -alone.get(id(candidate), -1.0))
    done, ranks, told = Changes(), _Ranks(), []
    for candidate in order:
        suggestion, changes = candidate
        above = ranks.covering(suggestion)
        if changes is not None and above is not None:
            suggestion = replace(_saving(replay, suggestion, Changes(), changes), instead_of=above)
        elif changes is not None:
            suggestion = _saving(replay, suggestion, done, changes)
            done |= changes
        ranks.add(suggestion)
        told.append(suggestion)
    return tuple(told)


class _Ranks:
    """Which suggestion concerned which sites first; counted from 1."""

    def __init__(self) -> None:
        self._told: list[Suggestion] = []

    def add(self, suggestion: Suggestion) -> None:
        self._told.append(suggestion)

    def covering(self, suggestion: Suggestion) -> int | None:
        """The first one above that concerns all sites of this one."""
        for rank, above in enumerate(self._told, 1):
            if suggestion.sites and _is_within(suggestion, above):
                return above.instead_of or rank
        return None


def _is_within(suggestion: Suggestion, above: Suggestion) -> bool:
    return all(site in above.sites for site in suggestion.sites)


def _saving(replay: Replay, suggestion: Suggestion, done: Changes, changes: Changes) -> Suggestion:
    """The suggestion with what it saves beyond what is done already."""
    saving = replay.saving(done, changes)
    after = replay.predict(done | changes)
    if saving.likely < NOTHING * after.before_ns:
        return _nothing(suggestion, after)
    return replace(
        suggestion,
        saving_ns_per_step=int(saving.likely),
        saving_low_ns=int(saving.low),
        saving_high_ns=int(saving.high),
    )


def _nothing(suggestion: Suggestion, after: Prediction) -> Suggestion:
    title = suggestion.title
    return replace(
        suggestion,
        title=f"Nothing to gain: {title[0].lower()}{title[1:]}",
        advice=f"{suggestion.advice} {WHY_NOTHING[after.bottleneck]}",
        saving_ns_per_step=0,
        worth=False,
    )


def total(suggestions: Sequence[Suggestion]) -> int:
    """What all of them save a step together, alternatives left out, in nanoseconds."""
    return sum(item.saving_ns_per_step or 0 for item in suggestions if item.instead_of is None)
