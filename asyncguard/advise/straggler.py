"""Who was late: the rank that the others waited for at collectives.

At a collective or a barrier every rank leaves when the last one has come, so the rank that waited
least came last. What the others waited longer than it is what they waited for it, and where most of
them did so for more than a few per cent of the time of the steps, it is the straggler.
"""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

FEW = 0.03  # of the time of a step: less may be due to other load on a machine


class Member(NamedTuple):
    """One trace: its name, who it is, and its totals (nanoseconds).

    `collective_ns` is what it waited at collectives in `stepping_ns`, the time of its `steady`
    complete steps after the warm-up, or of the run where there are none; None without a collective.
    `held` is what it waited in each of the newest steps, the last of which is number `steps` - 1.
    """

    name: str
    identity: Mapping[str, Any]
    waits: int
    stall_ns: int
    duration_ns: int
    collective_ns: int | None
    held: array[int]
    steps: int
    steady: int
    stepping_ns: int
    troubles: tuple[str, ...] = ()
    device: str = ""
    basis: str = ""
    command: str = ""


class Late(NamedTuple):
    """Who came last at collectives, how long each rank waited for it, and that in words."""

    rank: int | None = None
    waited_ns: tuple[int, ...] = ()
    verdict: str = ""


NOBODY = Late()


def latecomer(ranks: Sequence[int], members: Sequence[Member]) -> Late:
    """Tell the rank for which most others waited, in most steps, for more than a few per cent.

    Sums would not do: where a machine is busy now and then, a few long waits are most of them.
    """
    known = [member.collective_ns for member in members if member.collective_ns is not None]
    if len(known) < len(members):
        return Late(
            verdict="No straggler is named: not every rank was held at a collective (those of NCCL "
            "hold the stream, not Python)."
        )
    by_step = _by_step(members)
    held = by_step or [[ns] for ns in known]
    usual = [statistics.median(each) for each in held]
    at = usual.index(min(usual))
    others = [each for number, each in enumerate(held) if number != at]
    share = statistics.median(
        statistics.median_low(waits) - last  # most of them waited as long, or longer
        for last, *waits in zip(held[at], *others, strict=True)
    ) / max(min(_span(member, bool(by_step)) for member in members), 1)
    if share < FEW:
        return Late(
            verdict="No straggler is named: in most steps the ranks waited for each other equally "
            f"long, but for {max(share, 0):.1%} of the time."
        )
    return Late(
        ranks[at],
        tuple(max(ns - known[at], 0) for ns in known),
        f"Rank {ranks[at]} came last at collectives most of the time: the others waited "
        f"{share:.0%} of their time for it.",
    )


def _span(member: Member, a_step: bool) -> float:
    """The time of its steps, or of one."""
    return member.stepping_ns / max(member.steady, 1) if a_step else member.stepping_ns


def _by_step(members: Sequence[Member]) -> Sequence[Sequence[int]]:
    """Return how long each rank waited for the others in the steps that all know; [] for none."""
    first = max(member.steps - len(member.held) for member in members)
    last = min(member.steps for member in members)
    if first >= last:
        return []
    starts = [first - (member.steps - len(member.held)) for member in members]
    return [
        member.held[start : start + last - first]
        for member, start in zip(members, starts, strict=True)
    ]
