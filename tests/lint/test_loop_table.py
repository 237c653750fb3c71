"""How often a loop's body runs: each row of the decision table, and what holds of all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.lint.domain.reasons import LOW
from asyncguard.lint.domain.work import TABLE, LoopShape, Work, classify
from asyncguard.model import Loop

SHAPES = st.builds(
    LoopShape,
    st.integers(-1, 3),
    *[st.booleans()] * 9,
)
WORKS = st.integers(0, max(Work) * 2 - 1)
# A loop that each row decides, and that no row before it does.
DECIDED = {
    "it steps an environment": (LoopShape(once=True), Work.STEPS_ENVIRONMENT),
    "it goes round once": (LoopShape(batches=3, once=True), Work.STEP),
    "it cuts what it goes over into batches": (LoopShape(batches=LOW), Work.CONTAINS_BATCHES),
    "it trains, or goes over batches": (LoopShape(batches=0), Work.NONE),
    "it generates for each of its batches": (LoopShape(names_batches=True), Work.CONTAINS_RUNS),
    "it contains steps": (LoopShape(batches=3, names_epochs=True), Work.CONTAINS_STEPS),
    "it names epochs": (LoopShape(names_epochs=True), Work.RUNS_MODEL),
    "it runs a model on what its round before made": (LoopShape(), Work.REPEATS),
    "it keeps a pace, and runs a model": (LoopShape(paced=True), Work.CONTAINS_RUNS),
    "it runs what runs a model in each of its steps": (LoopShape(), Work.CONTAINS_RUNS),
    "it draws a figure each time": (LoopShape(), Work.DRAWS | Work.RUNS_MODEL),
    "it runs a model": (LoopShape(), Work.RUNS_MODEL),
    "it names steps, and works": (LoopShape(names_steps=True), Work.ENQUEUES),
    "it works on the device until a condition holds": (LoopShape(until=True), Work.ENQUEUES),
}


def test_each_row_has_a_loop_that_it_decides() -> None:
    assert list(DECIDED) == [row.says for row in TABLE]


@pytest.mark.parametrize("says", DECIDED)
def test_the_first_row_that_holds_decides(says: str) -> None:
    shape, work = DECIDED[says]
    first = next(row for row in TABLE if row.holds(shape, work))
    assert first.says == says
    assert classify(shape, work) == first.often


@pytest.mark.parametrize(
    ("shape", "work", "often"),
    [
        pytest.param(LoopShape(), Work.NONE, Loop.NONE, id="nothing is known"),
        pytest.param(LoopShape(), Work.ENQUEUES, Loop.NONE, id="device work of some kind"),
        pytest.param(LoopShape(names_steps=True), Work.NONE, Loop.NONE, id="a name alone"),
        pytest.param(
            LoopShape(names_steps=True, periodic=True), Work.NONE, Loop.STEP, id="reports"
        ),
        pytest.param(LoopShape(3, on_device=True), Work.NONE, Loop.NONE, id="batches left alone"),
        pytest.param(LoopShape(3, on_device=True), Work.ENQUEUES, Loop.STEP, id="batches used"),
        pytest.param(LoopShape(3), Work.CONTAINS_TRAINING, Loop.NONE, id="rounds of training"),
        pytest.param(
            LoopShape(3),
            Work.CONTAINS_TRAINING | Work.CONTAINS_STEPS,
            Loop.EPOCH,
            id="rounds of training, in loops",
        ),
        pytest.param(LoopShape(names_epochs=True), Work.STEP, Loop.STEP, id="full-batch training"),
        pytest.param(
            LoopShape(),
            Work.GRADIENTS | Work.CONTAINS_STEPS | Work.CONTAINS_GRADIENTS,
            Loop.EPOCH,
            id="gradients of whole trainings",
        ),
        pytest.param(
            LoopShape(),
            Work.GRADIENTS | Work.CONTAINS_STEPS,
            Loop.STEP,
            id="gradients, with a search within",
        ),
        pytest.param(
            LoopShape(),
            Work.STEP | Work.CONTAINS_STEPS | Work.CONTAINS_GRADIENTS,
            Loop.STEP,
            id="trains, with trainings within",
        ),
    ],
)
def test_loops(shape: LoopShape, work: Work, often: Loop) -> None:
    assert classify(shape, work) == often


@given(SHAPES, WORKS)
def test_a_loop_that_goes_round_once_repeats_nothing_but_an_environment(
    shape: LoopShape, work: int
) -> None:
    steps = Loop.STEP if work & Work.STEPS_ENVIRONMENT else Loop.NONE
    assert classify(shape._replace(once=True), work) == steps


@given(SHAPES, WORKS)
def test_running_a_model_makes_no_loop_rarer(shape: LoopShape, work: int) -> None:
    order = [Loop.NONE, Loop.EPOCH, Loop.STEP]
    before, after = classify(shape, work), classify(shape, work | Work.RUNS_MODEL)
    assert order.index(after) >= order.index(before)


@given(SHAPES, WORKS)
def test_the_work_of_two_paths_adds_up_in_any_order(shape: LoopShape, work: int) -> None:
    flags = [flag for flag in Work if work & flag]
    added, backwards = Work.NONE, Work.NONE
    for flag in flags:
        added |= flag
    for flag in reversed(flags):
        backwards |= flag
    assert added == backwards
    assert classify(shape, added) == classify(shape, backwards)
