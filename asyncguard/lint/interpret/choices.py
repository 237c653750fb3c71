"""The `if` statement: both branches run, a rare one under a guard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import libcst as cst

from asyncguard.lint.contexts import branches, caches, conditions, trainings
from asyncguard.lint.contexts.frame import Frame, Statements
from asyncguard.lint.contexts.options import asked_by
from asyncguard.lint.domain.dependence import Dependence
from asyncguard.lint.domain.loops import Guard, LoopRecord
from asyncguard.lint.domain.values import from_params
from asyncguard.lint.domain.work import Work
from asyncguard.lint.interpret.blocks import execute, run, suite
from asyncguard.lint.interpret.narrowing import (
    asks_whether_on_device,
    guarded_by_omission,
    guarded_by_test,
    narrow,
    truth,
)
from asyncguard.lint.syntax.tree import children, dotted
from asyncguard.model import SyncKind


def if_(frame: Frame, node: cst.If) -> bool:
    """Both branches run; a rare one under a guard."""
    before_test = len(frame.sites)
    truth(frame, node.test)
    asked = any(site.point.kind == SyncKind.TRUTH for site in frame.sites[before_test:])
    guard_true, guard_false = _guards(frame, node)
    last = frame.last_choice is node
    typed = [guarded_by_test(frame, node.test, holds) for holds in (True, False)]
    otherwise = typed[1] | guarded_by_omission(frame, node.test, cst.IsNot).where
    with frame.env.fork() as fork:
        narrow(frame, node.test, True)
        frame.findings += asked
        omitted = guarded_by_omission(frame, node.test, cst.Is)
        with frame.guarded(
            guard_true, omitted.where | typed[0], asked_by(node.test, True, frame.held)
        ):
            then_falls = suite(frame, node.body)
        frame.findings -= asked
        after_then = fork.take()
        narrow(frame, node.test, False)
        else_falls = _else(frame, node, guard_false, otherwise)
        moved = node.orelse is None and asks_whether_on_device(node.test)
        if then_falls and (last or moved or not else_falls):
            fork.take()  # it is one of the words that are asked for, or in host memory
            fork.apply(after_then)
        elif then_falls:
            fork.apply(fork.merged(after_then, fork.take()))
            if omitted:  # what is made for it comes from the others without it
                path = dotted(node.test.left)  # type: ignore[attr-defined]
                value = frame.env[path]
                frame.env[path] = from_params(value, value.params | omitted)
    if not then_falls or caches.is_large_enough(node):
        _guard_rest(frame, node, guard_false, otherwise, rarely=guard_true is not None)
    return then_falls or else_falls


def _guard_rest(
    frame: Frame, node: cst.If, guard: Guard | None, typed: Dependence, *, rarely: bool
) -> None:
    """Note what holds of the code behind an `if` whose branch does not get there.

    Where the branch is taken `rarely`, that is no condition.
    """
    asked = asked_by(node.test, False, frame.held)
    raises = branches.raises(node.body)
    frame.nest.asked |= asked._replace(shapes=frozenset()) if raises or rarely else asked
    leaves = node.orelse is None and not raises
    if leaves and guard is not None and not _is_step_after(frame, guard):
        frame.nest.guard(guard)  # `if step % n: continue`: the rest is guarded
    if branches.returns(node.body):
        frame.omitted |= typed


def _guards(frame: Frame, node: cst.If) -> tuple[Guard | None, Guard | None]:
    """Return the guards of both branches: by the test, and by what the branches do."""
    guard_true, guard_false = conditions.guard_of(frame, node.test)
    raises = type(node.orelse) is cst.Else and branches.raises(node.orelse.body)
    recalled = caches.recalls(node)
    guard_true = _guard_of_body(frame, node, guard_true)
    done = caches.is_large_enough(node) or caches.was_done(frame.function.node, node)
    if raises or recalled or done:
        guard_false = Guard(len(frame.loops), True)
    return guard_true, guard_false


def _guard_of_body(frame: Frame, node: cst.If, guard: Guard | None) -> Guard | None:
    """Return the guard of a branch: what it does may be rarer, or no rarer, than its test says."""
    lasting = _runs_once(frame, node)
    rarely = branches.exits(node.body)  # the loops in it have as many steps as others
    if guard is None:
        rarely = rarely or branches.is_rare(frame, node)
        rarely = rarely or branches.starts_with_a_warning(node.body)
    if lasting or rarely:
        guard = Guard(len(frame.loops), lasting)
    elif guard is None:
        guard = caches.fills_first(frame, node)
    lasts = guard is None or guard.lasting
    if not lasts and not branches.is_point(node.test) and _trains(frame, node):
        return None  # every n-th round is the step
    return guard


def _runs_once(frame: Frame, node: cst.If) -> bool:
    """Whether a branch runs once, or never, however often its test is asked."""
    kept = branches.leaves_loop(node.body) or caches.fills_in(node)
    return kept or branches.is_once(frame, node) or conditions.never_holds(node.test)


def _else(frame: Frame, node: cst.If, guard: Guard | None, typed: Dependence) -> bool:
    """Run what an `if` does otherwise; return whether that falls through."""
    if node.orelse is None:
        return True
    with frame.guarded(guard, typed, asked_by(node.test, False, frame.held)):
        if isinstance(node.orelse, cst.Else):
            return suite(frame, node.orelse.body)
        frame.last_choice = node.orelse if branches.chooses(node, node.orelse) else None
        frame.depth -= 1  # an `elif` is no deeper than its `if`
        falls = execute(frame, node.orelse)
        frame.depth += 1
        return falls


def _is_step_after(frame: Frame, guard: Guard) -> bool:
    """Whether what follows a statement is a training step: every n-th round is the step.

    Not asked within such a question.
    """
    if guard.lasting or frame.speculative:
        return False
    frame.differs = True
    body, index = frame.blocks[-1]
    if id(body) not in frame.last_trainings:
        frame.last_trainings[id(body)] = _last_training(frame, body, index + 1)
    return frame.last_trainings[id(body)] > index


def _last_training(frame: Frame, body: Sequence[cst.CSTNode], start: int) -> int:
    """Return the index of the last statement that runs a training step, from `start`; else -1."""
    last = max((i for i in range(start, len(body)) if _names_training(frame, body[i])), default=-1)
    with _looking_ahead(frame) as evidence:
        for index in range(start, len(body)):
            evidence.work &= ~Work.GRADIENTS
            falls = run(frame, body[index : index + 1])
            if evidence.work & Work.GRADIENTS:
                last = max(last, index)
            if not falls:
                break
    return last


def _trains(frame: Frame, node: cst.If) -> bool:
    """Whether a branch runs a training step, outside loops of its own.

    Not asked within such a question: what is looked for there does not hang on guards.
    """
    if frame.looks_ahead:
        return False
    with _looking_ahead(frame) as evidence:
        narrow(frame, node.test, True)
        suite(frame, node.body)
    trains = bool(evidence.work & Work.GRADIENTS)
    return trains or _names_training(frame, node.body)


@contextmanager
def _looking_ahead(frame: Frame) -> Iterator[LoopRecord]:
    """Run code to see what it is evidence of in a loop of its own; nothing else comes of it."""
    before, frame.looks_ahead = frame.looks_ahead, True
    with frame.speculation(), frame.nest.apart() as evidence, frame.env.fork() as fork:
        yield evidence
        fork.take()
    frame.looks_ahead = before


def _names_training(frame: Frame, node: cst.CSTNode) -> bool:
    if type(node) in (cst.For, cst.While):
        return False
    inside = (_names_training(frame, part) for part in children(node))
    return trainings.names_training(frame, node) or any(inside)


STATEMENTS: Statements = {
    cst.If: if_,
}
