"""Laws of what reads depend on: the words that calls hand, and that branches ask for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asyncguard.lint.domain.dependence import Dependence

PARAMETERS = st.integers(0, 2)
WORDS: st.SearchStrategy[str | int] = st.sampled_from(["sum", "mean", "none", 1, 2])
ASKED = st.builds(
    lambda *one: Dependence(when_word=frozenset([one])),
    PARAMETERS,
    st.frozensets(WORDS, min_size=1),
    st.booleans(),
)
HANDED = st.dictionaries(PARAMETERS, WORDS).map(
    lambda words: Dependence(words=frozenset(words.items()))
)


@given(PARAMETERS, WORDS, st.frozensets(WORDS, min_size=1), st.booleans())
def test_a_call_rules_out_the_branches_that_its_word_does_not_take(
    parameter: int, word: str | int, asked: frozenset[str | int], holds: bool
) -> None:
    branch = Dependence(when_word=frozenset([(parameter, asked, holds)]))
    handed = Dependence(words=frozenset([(parameter, word)]))
    assert branch.is_ruled_out_by(handed) == ((word in asked) != holds)
    elsewhere = Dependence(words=frozenset([(parameter + 1, word)]))
    assert not branch.is_ruled_out_by(elsewhere)


@given(ASKED, HANDED, HANDED)
def test_two_calls_rule_out_what_each_of_them_does(
    branch: Dependence, one: Dependence, other: Dependence
) -> None:
    both = branch.is_ruled_out_by(one) and branch.is_ruled_out_by(other)
    assert branch.is_ruled_out_by(one & other) == both
    assert one & other == other & one


@given(ASKED, HANDED)
def test_words_are_handed_on_to_parameters_of_other_places(
    branch: Dependence, handed: Dependence
) -> None:
    moved = frozenset([(0, 2), (1, 0), (2, 1)])
    there = handed.renamed(moved)
    assert branch.renamed(moved).is_ruled_out_by(there) == branch.is_ruled_out_by(handed)
    assert there.renamed({(b, a) for a, b in moved}) == handed
    assert Dependence().renamed(moved) == handed.renamed([])
