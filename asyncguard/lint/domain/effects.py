"""The effects of running a function: loops entered, sites, calls and other events.

A frame notes them; summaries keep them for callers, and the checks read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import libcst as cst

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence
from asyncguard.lint.domain.hotness import Context
from asyncguard.lint.domain.reasons import Reason
from asyncguard.lint.domain.work import UNSHAPED, LoopShape, Work, classify
from asyncguard.lint.syntax.tree import NO_TREE, Place, place
from asyncguard.model import Loop


@dataclass(eq=False, slots=True)
class LoopRecord:
    """One loop being executed, and the evidence of what it is a loop over."""

    node: cst.CSTNode
    targets: frozenset[str] = frozenset()
    shape: LoopShape = UNSHAPED
    work: Work = Work.NONE
    comprehension: bool = False
    transparent: bool = False  # what it does counts for the loop around it
    line: int = 0  # where it stands
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


@dataclass(eq=False, slots=True)
class Site:
    """One operation that reads a device value or waits for the device.

    `context` is as seen within its function; how often that is entered is decided later, when all
    callers are known.
    """

    point: SyncPoint
    node: cst.CSTNode
    function: FunctionInfo
    context: Context
    why: Reason
    doubt: int
    confidence: int
    sink: bool = False
    whole: bool = False  # it reads the value itself, and nothing of what that holds
    via: Site | None = None  # the read inside a helper that this call causes
    subject: cst.CSTNode | None = None  # what is read
    loops: tuple[LoopRecord, ...] = ()
    statement: cst.CSTNode | None = None
    blocks: tuple[tuple[Sequence[cst.CSTNode], int], ...] = ()  # where it stands, outermost first
    params: Dependence = INDEPENDENT  # of the value read
    compared: bool = False  # it reads the outcome of a comparison
    hot: Reason | None = None  # why it is repeated within its function
    place: Place | None = None  # where it stands, once its tree is gone

    @property
    def read(self) -> Site:
        """What waits in the end: the site itself, or what a helper reads that is called here."""
        site = self
        while site.via is not None:
            site = site.via
        return site


def drop_trees(sites: Iterable[Site]) -> None:
    """Note where sites stand, and let go of their trees."""
    for site in sites:
        if site.function.unit is not None and site.node is not NO_TREE:
            site.place = place(site.function.unit, site.node)
            site.node, site.subject, site.statement = NO_TREE, None, None
            site.loops, site.blocks = (), ()


class Event(NamedTuple):
    """What the rules about sequences of statements must know of, beside the sites.

    `what` is "work" (device work is enqueued), "call" (of the checked function `callee`), "opaque"
    (a call out of sight that may wait) or "clock" (a clock is read).
    """

    what: str
    node: cst.CSTNode
    framework: str
    callee: FunctionInfo | None
    loops: tuple[LoopRecord, ...]
    blocks: tuple[tuple[Sequence[cst.CSTNode], int], ...]


@dataclass(eq=False, slots=True)
class Edge:
    """A call of a function whose body is at hand."""

    callee: FunctionInfo
    context: Context
    line: int = 0
    hot: Reason | None = None  # why it is repeated within its caller
    spared: Dependence = INDEPENDENT  # hands these what is in host memory, and does not omit those
