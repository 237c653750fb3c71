"""One read, one finding, whatever order its callers were looked at in."""

from __future__ import annotations

from itertools import permutations

from asyncguard.lint.program.merging import Told, merged
from asyncguard.model import Finding


def told(*evidence: str) -> Told:
    return Told(Finding("ASG102", "waits", "a.py", 3, 1, 3, 9, evidence=evidence))


def test_the_order_of_callers_decides_nothing() -> None:
    ways = [told("reads.parameter"), told("reads.in_helper"), told("callers.2", "reads.parameter")]
    found = {tuple(merged(order)) for order in permutations(ways)}
    assert len(found) == 1
