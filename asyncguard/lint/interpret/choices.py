"""The `if` statement: both branches run, a rare one under a guard."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from asyncguard.lint.contexts import branches, conditions, loops
from asyncguard.lint.contexts.frame import Frame, Statements
from asyncguard.lint.domain.effects import Guard, LoopRecord
from asyncguard.lint.domain.join import merge
from asyncguard.lint.domain.values import from_params
from asyncguard.lint.interpret.blocks import execute, run, suite
from asyncguard.lint.interpret.narrowing import asked_for, asks_whether_on_device, narrow, truth
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import children, dotted, walk
from asyncguard.model import SyncKind


def if_(frame: Frame, node: cst.If) -> bool:
    """Both branches run; a rare one under a guard."""
    before_test = len(frame.sites)
    truth(frame, node.test)
    asked = any(site.point.kind == SyncKind.TRUTH for site in frame.sites[before_test:])
    guard_true, guard_false = _guards(frame, node)
    before = dict(frame.env)
    narrow(frame, node.test, True)
    frame.findings += asked
    last = frame.last_choice is node
    left_out = asked_for(frame, node.test, cst.Is)
    with frame.guarded(guard_true, left_out):
        then_falls = suite(frame, node.body)
    frame.findings -= asked
    after_then = frame.env
    frame.env = before
    narrow(frame, node.test, False)
    else_falls = _run_else(frame, node, guard_false)
    moved = node.orelse is None and asks_whether_on_device(node.test)
    if then_falls and (last or moved or not else_falls):
        frame.env = after_then  # `last`: it is one of the words that are asked for
    elif then_falls:
        frame.env = merge(after_then, frame.env)
        if left_out:  # what is made for it comes from the others without it
            path = dotted(node.test.left)  # type: ignore[attr-defined]
            value = frame.env[path]
            frame.env[path] = from_params(value, value.params | left_out)
    leaves = not then_falls and node.orelse is None and not branches.raises(node.body)
    if leaves and guard_false is not None and not _is_step_after(frame, guard_false):
        frame.guards.append(guard_false)  # `if step % n: continue`: the rest is guarded
    return then_falls or else_falls


def _guards(frame: Frame, node: cst.If) -> tuple[Guard | None, Guard | None]:
    """Return the guards of both branches: by the test, and by what the branches do."""
    guard_true, guard_false = conditions.guard_of(frame, node.test)
    lasting = branches.leaves_loop(node.body) or branches.fills_in(node) or branches.is_once(node)
    rarely = branches.exits(node.body)  # the loops in it have as many steps as others
    if guard_true is None:
        rarely = rarely or branches.is_period(node) or branches.improves(node)
    if lasting or rarely:
        guard_true = Guard(len(frame.loops), lasting)
    elif guard_true is None:
        guard_true = branches.fills_first(frame, node)
    lasts = guard_true is None or guard_true.lasting
    if not lasts and not branches.is_point(node.test) and _trains(frame, node):
        guard_true = None  # every n-th round is the step
    raises = type(node.orelse) is cst.Else and branches.raises(node.orelse.body)
    if raises or branches.recalls(node):
        guard_false = Guard(len(frame.loops), True)
    return guard_true, guard_false


def _run_else(frame: Frame, node: cst.If, guard: Guard | None) -> bool:
    """Run the other branch, if there is one; return whether it falls through."""
    if node.orelse is None:
        return True
    with frame.guarded(guard):
        if type(node.orelse) is not cst.If:
            return suite(frame, node.orelse.body)
        frame.last_choice = node.orelse if branches.chooses(node, node.orelse) else None
        return execute(frame, node.orelse)


def _is_step_after(frame: Frame, guard: Guard) -> bool:
    """Whether what follows a statement is a training step: every n-th round is the step.

    Not asked within such a question.
    """
    if guard.lasting or frame.silent:
        return False
    body, index = frame.blocks[-1]
    evidence = _evidence_of(frame, lambda: run(frame, body[index + 1 :]))
    return evidence.strong or any(map(_names_training, body[index + 1 :]))


def _trains(frame: Frame, node: cst.If) -> bool:
    """Whether a branch runs a training step, outside loops of its own."""

    def branch() -> bool:
        narrow(frame, node.test, True)
        return suite(frame, node.body)

    evidence = _evidence_of(frame, branch)
    asks = evidence.strong and not evidence.updates
    trains = evidence.strong and not (asks and any(map(loops.evaluates, walk(node.body))))
    return (trains and not _drops_state(frame, node.body)) or _names_training(node.body)


def _drops_state(frame: Frame, body: cst.CSTNode) -> bool:
    """Whether the state that a step gives is dropped, where one hands it on: it only evaluates."""
    if not frame.analysis.knowledge.functional_of(frame.analysis.frameworks):
        return False
    return any(_drops(n) for n in walk(body) if type(n) is cst.Assign)


_STATE = family("state.training")


def _drops(node: cst.Assign) -> bool:
    """Whether this is `_, info = update(state, batch)`."""
    target, call = node.targets[0].target, node.value
    if type(target) is not cst.Tuple or type(call) is not cst.Call:
        return False
    taken = any(_STATE(dotted(argument.value)) for argument in call.args)
    return taken and dotted(target.elements[0].value) == "_"


def _evidence_of(frame: Frame, block: Callable[[], bool]) -> LoopRecord:
    """Return what a block would be evidence of in a loop of its own; nothing else comes of it."""
    before = dict(frame.env)
    with frame.quiet(), frame.fresh_evidence() as evidence:
        block()
    frame.env = before
    return evidence


def _names_training(node: cst.CSTNode) -> bool:
    if type(node) in (cst.For, cst.While):
        return False
    return loops.names_training(node) or any(map(_names_training, children(node)))


STATEMENTS: Statements = {
    cst.If: if_,
}
