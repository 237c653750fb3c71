"""The loops that are being executed, and the conditions that make parts of them rare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.domain.reasons import Reason
from asyncguard.lint.domain.work import UNSHAPED, LoopShape, Work, classify
from asyncguard.model import Loop


@dataclass(eq=False, slots=True)
class LoopRecord:
    """One loop being executed, and the evidence of what it is a loop over."""

    node: cst.CSTNode
    targets: frozenset[str] = frozenset()
    shape: LoopShape = UNSHAPED
    work: Work = Work.NONE
    fed: frozenset[str] = frozenset()  # what it hands to one model in each round, by path
    comprehension: bool = False
    transparent: bool = False  # what it does counts for the loop around it
    line: int = 0  # where it stands
    asked: frozenset[str] = frozenset()  # the shapes of the conditions around it
    source: Reason | None = None  # why what it goes over is taken for a loader

    @property
    def over_steps(self) -> bool:
        """Whether it is plainly the training or inference loop."""
        return self.shape.over_steps(self.work)

    @property
    def kind(self) -> Loop:
        """How often its body runs."""
        return classify(self.shape, self.work)

    def draws(self, batches: int) -> None:
        """Note that it goes over batches, as surely as this at least."""
        if batches > self.shape.batches:
            self.shape = self.shape._replace(batches=batches)


class Guard(NamedTuple):
    """A condition that makes what it governs rare; `depth` is how many loops were open.

    One that asks for the number of an iteration says nothing about the loops around that loop.
    """

    depth: int
    lasting: bool  # a flag: it also makes whole loops within it rare
    counted: int = -1  # the loop whose iterations it counts, from the outermost; -1: none
    first: int = -1  # the loop whose first iteration it asks for, likewise
