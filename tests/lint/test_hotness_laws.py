"""Contexts and hotness: how the two are put together, along chains of calls and in any order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asyncguard.lint.domain.hotness import IN_STEP, ONCE, Context, Hotness
from asyncguard.model import Loop

CONTEXTS = st.builds(Context, st.sampled_from(Loop), st.booleans())
LEVELS = st.sampled_from(Hotness)


@given(CONTEXTS)
def test_a_function_that_nothing_enters_keeps_its_contexts(context: Context) -> None:
    assert context.within(Hotness.COLD) == context


@given(LEVELS)
def test_a_place_beside_all_loops_is_as_hot_as_its_function(entered: Hotness) -> None:
    assert ONCE.within(entered).hotness == entered


@given(LEVELS)
def test_a_loop_over_steps_is_one_wherever_it_is_called(entered: Hotness) -> None:
    assert IN_STEP.within(entered) == IN_STEP


@given(CONTEXTS, LEVELS, LEVELS)
def test_a_hotter_caller_makes_nothing_colder(
    context: Context, one: Hotness, other: Hotness
) -> None:
    colder, hotter = sorted((one, other))
    assert context.within(colder).hotness <= context.within(hotter).hotness


@given(CONTEXTS, st.lists(LEVELS))
def test_the_hottest_of_several_callers_decides(context: Context, levels: list[Hotness]) -> None:
    levels = [Hotness.COLD, *levels]
    assert context.within(max(levels)).hotness == max(context.within(e).hotness for e in levels)


@given(CONTEXTS, LEVELS)
def test_being_entered_so_often_twice_changes_nothing(context: Context, entered: Hotness) -> None:
    once = context.within(entered)
    assert once.within(entered) == once


@given(CONTEXTS, CONTEXTS, LEVELS)
def test_a_call_never_enters_its_callee_less_often_than_by_itself(
    call: Context, place: Context, entered: Hotness
) -> None:
    by_itself = place.within(call.hotness).hotness
    assert place.within(call.within(entered).hotness).hotness >= by_itself


@given(CONTEXTS, LEVELS)
def test_a_guard_never_makes_a_place_hotter(context: Context, entered: Hotness) -> None:
    free, guarded = context._replace(guarded=False), context._replace(guarded=True)
    assert guarded.within(entered).hotness <= free.within(entered).hotness
