"""The summary of a function, of what its frame noted."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from asyncguard.lint.contexts.copies import in_flight
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.definitions import Site, Summary
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.reasons import Provenance
from asyncguard.lint.domain.values import (
    ARRAYS,
    CONTAINER,
    HOST_VALUE,
    UNKNOWN,
    Role,
    Value,
    container,
    settled,
    with_role,
)
from asyncguard.lint.domain.work import Work


def summary_of(frame: Frame) -> Summary:
    """Return what callers need to know of the function that a frame ran."""
    result = settled(_join_all(_of_trees(frame)))
    if frame.yields:
        result = container(_join_all(frame.yields))._replace(ref=_stepping(frame))
    work = frame.nest.work
    return Summary(
        result,
        _once(frame.reads),
        _once(frame.sites),
        tuple(frame.edges),
        tuple(frame.events),
        tuple(frame.named.items()),
        work & ~Work.STEP if work & Work.MAKES_OPTIMIZER else work,
        tuple(frame.compiles),
        frozenset(frame.enters),
        frozenset(frame.moved),
        tuple((*at, added) for at, added in sorted(frame.added.items(), key=itemgetter(0))),
        frozenset(frame.passed),
        frame.left.joined(in_flight(frame.env)),
        frame.waits,
        tuple(frame.races),
        frame.keeps,
    )


def _stepping(frame: Frame) -> Value | None:
    """Return what a loop over a generator draws from: batches, if it yields in each step."""
    frameworks = frame.analysis.frameworks
    if not frame.yields_steps or not frameworks:
        return None
    text = f"`{frame.function.qualname}` yields in each of its steps"
    return Value("loader", frameworks[0], frame.reason(Provenance.USAGE, text))


def _of_trees(frame: Frame) -> Sequence[Value]:
    """Return what a function returns; of one that calls itself for the parts of a tree, trees.

    They hold what it makes of an array: `{k: to_host(v) for k, v in tree.items()}`.
    """
    leaves = [value for value in frame.returns if value.kind in ARRAYS]
    if not leaves or all(edge.callee is not frame.function for edge in frame.edges):
        return frame.returns
    leaf = with_role(_join_all(leaves), Role.NONE)
    return [_holding(leaf, v) if v.kind == CONTAINER else v for v in frame.returns]


def _holding(leaf: Value, tree: Value) -> Value:
    """Return a tree that holds such leaves where it holds more trees, or nothing is known of it."""
    held = tree.element
    open_ = held is not None and held.kind in (CONTAINER, UNKNOWN)
    return tree._replace(element=leaf) if open_ else tree


def _once(sites: Sequence[Site]) -> tuple[Site, ...]:
    """Keep one site a node, and a read within: the last noted, when the most was known."""
    return tuple({(s.where, s.point.rule, s.read.where): s for s in sites}.values())


def _join_all(values: Sequence[Value]) -> Value:
    if not values:
        return HOST_VALUE
    merged = values[0]
    for value in values[1:]:
        merged = join(merged, value)
    return merged
