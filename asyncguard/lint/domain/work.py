"""The work that code does, and how often the body of a loop therefore runs.

A loop is judged by its shape, which is what its head says, and by the work of its body. `classify`
is the one decision table; `contexts.loops` reads the shape, `contexts.nesting` notes the work.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from asyncguard.lint.domain.reasons import LOW
from asyncguard.model import Loop


class Work(enum.IntFlag):
    """What a function does outside its own loops, or a loop in its body; flags add up."""

    NONE = 0
    RUNS_MODEL = 1
    ENQUEUES = 2  # device work of other kinds
    GRADIENTS = 4  # a backward pass, an optimizer's step, the recording of a graph
    TRAINS = 8  # and does not merely ask for gradients
    UPDATES = 16  # and changes the model, as far as is seen
    STEPS_ENVIRONMENT = 32
    CONTAINS_STEPS = 64  # a loop over steps
    CONTAINS_TRAINING = 128  # a loop of training steps
    MAKES_OPTIMIZER = 256  # which no step does
    CONTAINS_BATCHES = 512  # a loop over batches, or parts of its data
    CONTAINS_GRADIENTS = 1024  # a loop over steps that asks for gradients, in each
    REPEATS = 2048  # runs a model on what the round before made
    CONTAINS_RUNS = 4096  # such a loop: a generation, a sampling, a search
    DRAWS = 8192  # figures, for somebody to look at

    STEP = GRADIENTS | TRAINS | UPDATES
    LOOPS = CONTAINS_STEPS | CONTAINS_BATCHES | CONTAINS_GRADIENTS
    OF_CALLER = RUNS_MODEL | STEP  # what a function does counts for the place of its call

    def __and__(self, other: int) -> Work:
        return _WORK[int.__and__(self, other)]  # the enumeration's own looks the member up slowly

    def __or__(self, other: int) -> Work:
        return _WORK[int.__or__(self, other)]


class _Members(dict[int, Work]):
    """The members, and their sums as they are asked for."""

    def __missing__(self, number: int) -> Work:
        return self.setdefault(number, Work(number))


_WORK = _Members()


class LoopShape(NamedTuple):
    """What the head of a loop says of it, and the names that it uses."""

    batches: int = -1  # confidence that it goes over batches; -1: no sign
    on_device: bool = False  # the batches are device values, of which not all come to a model
    names_epochs: bool = False
    names_batches: bool = False  # it goes over what is named after batches: `text_batches`
    names_steps: bool = False  # its variables or what it goes over are named after batches or steps
    counts: bool = False  # it goes over a range of numbers
    periodic: bool = False  # it does something every n-th time
    once: bool = False  # it goes round once or so, or as often as someone types
    until: bool = False  # it goes round while a condition holds
    paced: bool = False  # it keeps a pace: a robot's control, a stream

    def over_steps(self, work: int) -> bool:
        """Whether it is plainly the training or inference loop."""
        return bool(work & Work.GRADIENTS) or self.is_fed(work)

    def over_batches(self, work: int) -> bool:
        """Whether it goes over batches with a model, as far as names tell."""
        return self.is_fed(work) or (self.names_batches and bool(work & Work.RUNS_MODEL))

    def is_fed(self, work: int) -> bool:
        """Whether it goes over batches, of which something is made."""
        return self.batches >= 0 and (not self.on_device or bool(work & _USES_BATCHES))


UNSHAPED = LoopShape()
_USES_BATCHES = Work.RUNS_MODEL | Work.ENQUEUES


class Row(NamedTuple):
    """One row of the table: how often a body runs if this holds."""

    says: str
    holds: Callable[[LoopShape, int], object]
    often: Loop


def _runs_steps(shape: LoopShape, work: int) -> bool:
    rounds = work & Work.CONTAINS_TRAINING and not work & Work.GRADIENTS  # whatever it goes over
    epochs = shape.names_epochs and work & Work.CONTAINS_STEPS
    # It asks for the gradient of what a whole descent within it has made.
    descends = work & Work.CONTAINS_STEPS and work & Work.CONTAINS_GRADIENTS
    asks = work & Work.STEP == Work.GRADIENTS and descends and not shape.is_fed(work)
    return shape.over_steps(work) and not rounds and not epochs and not asks


def _in_parts(shape: LoopShape, work: int) -> bool:
    """Whether it goes over what is named a batch, and cuts each into batches of its own."""
    return bool(shape.batches == LOW and work & Work.CONTAINS_BATCHES and not work & Work.GRADIENTS)


def _generates_for_batches(shape: LoopShape, work: int) -> bool:
    """Whether it goes over what is named after batches, and runs no training for each."""
    runs = work & Work.CONTAINS_RUNS and not work & Work.CONTAINS_TRAINING
    return bool(shape.names_batches and runs)


def _shows_samples(shape: LoopShape, work: int) -> bool:
    """Whether it draws a figure each time; one that names steps draws each of a rollout."""
    return bool(work & Work.DRAWS) and not shape.names_steps


TABLE = (
    Row("it steps an environment", lambda shape, work: work & Work.STEPS_ENVIRONMENT, Loop.STEP),
    Row("it goes round once", lambda shape, work: shape.once, Loop.NONE),
    Row("it cuts what it goes over into batches", _in_parts, Loop.EPOCH),
    Row("it trains, or goes over batches", _runs_steps, Loop.STEP),
    Row("it generates for each of its batches", _generates_for_batches, Loop.STEP),
    Row("it contains steps", lambda shape, work: work & Work.CONTAINS_STEPS, Loop.EPOCH),
    Row("it names epochs", lambda shape, work: shape.names_epochs, Loop.EPOCH),
    Row(
        "it runs a model on what its round before made",
        lambda shape, work: work & Work.REPEATS,
        Loop.STEP,
    ),
    Row(
        "it keeps a pace, and runs a model",
        lambda shape, work: shape.paced and work & (Work.RUNS_MODEL | Work.CONTAINS_RUNS),
        Loop.STEP,
    ),
    Row(
        "it runs what runs a model in each of its steps",
        lambda shape, work: work & Work.CONTAINS_RUNS,
        Loop.EPOCH,
    ),
    Row("it draws a figure each time", _shows_samples, Loop.NONE),
    Row("it runs a model", lambda shape, work: work & Work.RUNS_MODEL, Loop.STEP),
    Row(
        "it names steps, and works",
        lambda shape, work: shape.names_steps and (work & Work.ENQUEUES or shape.periodic),
        Loop.STEP,
    ),
    Row(
        "it works on the device until a condition holds",
        lambda shape, work: shape.until and work & Work.ENQUEUES,
        Loop.STEP,
    ),
)


@cache
def classify(shape: LoopShape, work: int) -> Loop:
    """Return how often the body of a loop runs: the first row that holds decides."""
    return next((row.often for row in TABLE if row.holds(shape, work)), Loop.NONE)
