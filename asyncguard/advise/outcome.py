"""What replay says of a change that was made: from the waits that went to the changes of a plan.

Only the numbers of waits are known, before and after. Where sites are gone and a new one in the
same function waits in their stead, that one serves them all: they were batched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from asyncguard.advise.changes import Changes
from asyncguard.advise.replay import Prediction, Replay
from asyncguard.model import AsyncguardError, TraceRecord


class Moved(NamedTuple):
    """A site whose waits a step went from `before` to `after`.

    `numbers` are its indices in the record before; none where it is new.
    """

    numbers: tuple[int, ...]
    function: str
    before: float
    after: float


def expected(record: TraceRecord, moves: Sequence[Moved]) -> Prediction | None:
    """The step after those moves, predicted from the record before; None where it says nothing."""
    try:
        return Replay(record).predict(planned(moves))
    except AsyncguardError:  # no steps, or nothing that took time: then nothing is predicted
        return None


def planned(moves: Iterable[Moved]) -> Changes:
    """The changes that lead to those numbers of waits."""
    remove: set[int] = set()
    every: dict[int, int] = {}
    batch: list[frozenset[int]] = []
    by_function: dict[str, list[Moved]] = defaultdict(list)
    for move in moves:
        by_function[move.function].append(move)
    for group in by_function.values():
        gone = frozenset(n for move in group if not move.after for n in move.numbers)
        came = sum(move.after for move in group if not move.numbers)
        if gone and came:
            batch.append(gone)
            every.update(_thinned(gone, 1.0, came))
        else:
            remove |= gone
    for move in (move for group in by_function.values() for move in group):
        if move.numbers and 0 < move.after < move.before:
            if round(move.after) == 1 and move.before > 1:
                batch.append(frozenset(move.numbers))
            else:
                every.update(_thinned(move.numbers, move.before, move.after))
    return Changes(frozenset(remove), tuple(batch), every)


def _thinned(numbers: Iterable[int], before: float, after: float) -> dict[int, int]:
    """Those sites, waiting in so few steps that their number falls from `before` to `after`."""
    interval = round(before / after)
    return dict.fromkeys(numbers, interval) if interval > 1 else {}
