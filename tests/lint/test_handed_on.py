"""Functions that are handed on from parameter to parameter, over a few calls."""

from __future__ import annotations

from itertools import pairwise, permutations

from asyncguard.lint.domain.hotness import ONCE
from asyncguard.lint.program.calls import MOST_HOPS, handed_on
from asyncguard.lint.program.facts import Passed

HOME = ("a.py", "main")


def chain(length: int) -> list[Passed]:
    """A function that is passed as `p0`, which is handed on as `p1`, and so on."""
    first = Passed("p0", ("a.py", "callback"), HOME, ONCE, 1)
    names = [f"p{number}" for number in range(length + 1)]
    hops = pairwise(names)
    return [first, *(Passed(new, HOME, HOME, ONCE, 1, through=old) for old, new in hops)]


def test_as_many_hops_are_followed_in_whatever_order_they_are_met() -> None:
    reached = {f"p{number}" for number in range(MOST_HOPS + 1)}
    for passed in permutations(chain(MOST_HOPS + 1)):
        found = handed_on(passed)
        assert found.keys() == reached
        assert all(each.function == ("a.py", "callback") for of in found.values() for each in of)


def test_a_parameter_that_is_handed_on_to_itself_ends() -> None:
    found = handed_on([*chain(0), Passed("p0", HOME, HOME, ONCE, 2, through="p0")])
    assert {each.function for each in found["p0"]} == {("a.py", "callback")}
