"""The remaining statements.

A branch that does not fall through leaves its variables out of the join.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.contexts import branches
from asyncguard.lint.contexts.copies import COPIES, in_flight
from asyncguard.lint.contexts.frame import Frame, Statements, evaluate
from asyncguard.lint.contexts.iteration import element_of
from asyncguard.lint.contexts.options import NOTHING
from asyncguard.lint.contexts.variables import UNCHANGED
from asyncguard.lint.domain.dependence import INDEPENDENT
from asyncguard.lint.domain.loops import Guard
from asyncguard.lint.domain.reasons import Provenance
from asyncguard.lint.domain.values import (
    CALLABLE,
    CONTAINER,
    HOST_VALUE,
    MODEL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Value,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.interpret import copies
from asyncguard.lint.interpret.binding import bind_target
from asyncguard.lint.interpret.blocks import evaluate_defaults, evaluate_name, run, suite
from asyncguard.lint.interpret.functions import as_given
from asyncguard.lint.interpret.narrowing import narrow, truth
from asyncguard.lint.interpret.placement import enter_device
from asyncguard.lint.interpret.regions import within
from asyncguard.lint.interpret.stores import store
from asyncguard.lint.syntax.tree import dotted, walk


def line(frame: Frame, node: cst.SimpleStatementLine) -> bool:
    """One line, of several small statements."""
    return run(frame, node.body)


def expression(frame: Frame, node: cst.Expr) -> bool:
    """An expression for its effect."""
    func = node.value.func if type(node.value) is cst.Call else None
    if type(func) is cst.Attribute and func.attr.value in load().moves:
        for path in _gone_over(frame, dotted(func.value)):
            _learn_model(frame, path, func.attr.value)
    evaluate(frame, node.value)
    return True


def _gone_over(frame: Frame, path: str) -> list[str]:
    """Return a path, or those that it stands for in turn: `for net in (actor, critic):`."""
    loop = next((loop for loop in reversed(frame.loops) if path in loop.targets), None)
    held = loop.node.iter if loop is not None and type(loop.node) is cst.For else None
    if type(held) is cst.Tuple or type(held) is cst.List:
        return [dotted(element.value) for element in held.elements]
    return [path]


def _learn_model(frame: Frame, path: str, method: str) -> None:
    """Learn that `net.cuda()`, whose result is dropped, moves a model: arrays are not moved so."""
    if not path:
        return
    known = frame.lookup(path)
    if known is not None and known.kind != UNKNOWN:
        return
    analysis = frame.analysis
    named = analysis.knowledge.by_name(path.rpartition(".")[2], analysis.with_numpy)
    kind, framework = named or (MODEL, next(iter(analysis.frameworks), ""))
    if kind in CALLABLE and (named or frame.function.calls(path)):
        why = frame.reason(Provenance.USAGE, f"`{path}.{method}()` moves it in place")
        params = known.params if known is not None else INDEPENDENT
        frame.note(path, Value(kind, framework, why, params=params))


def return_(frame: Frame, node: cst.Return) -> bool:
    """A return ends the path."""
    value = evaluate(frame, node.value) if node.value is not None else HOST_VALUE
    frame.returns.append(as_given(frame, node.value, value))
    if COPIES in frame.env:
        frame.left = frame.left.joined(in_flight(frame.env))
    return False


def raise_(frame: Frame, node: cst.Raise) -> bool:
    """A raise ends the path, and happens once if ever."""
    if node.exc is not None:
        with frame.guarded(Guard(len(frame.loops), True)):
            evaluate(frame, node.exc)
    return False


def leave(frame: Frame, node: cst.CSTNode) -> bool:
    """`break` and `continue` end a path, and keep what variables are there."""
    if frame.rounds and not frame.looks_ahead:
        frame.rounds[-1].leave()
    return False


def assertion(frame: Frame, node: cst.Assert) -> bool:
    """An assertion reads its test; its message only when it fails. `assert False` is a raise."""
    truth(frame, node.test)
    narrow(frame, node.test, True)
    if node.msg is not None:
        with frame.guarded(Guard(len(frame.loops), True)):
            evaluate(frame, node.msg)
    return dotted(node.test) != "False"


def delete(frame: Frame, node: cst.Del) -> bool:
    """A deleted name is no longer known."""
    if path := dotted(node.target):
        frame.env.discard(path)
    return True


def declaration(frame: Frame, node: cst.Global | cst.Nonlocal) -> bool:
    """Names that belong to an outer scope."""
    if type(node) is cst.Global:
        frame.globals.update(item.name.value for item in node.names)
    return True


def import_(frame: Frame, node: cst.Import) -> bool:
    """`import a.b as c`."""
    frame.analysis.bind_import(frame, node)
    return True


def import_from(frame: Frame, node: cst.ImportFrom) -> bool:
    """`from a import b as c`, `from a import *`."""
    frame.analysis.bind_import_from(frame, node)
    return True


def function(frame: Frame, node: cst.FunctionDef) -> bool:
    """A definition; its body is analysed later, with everything around it known."""
    if frame.parent is not None:
        evaluate_defaults(frame, node)
    frame.analysis.define_function(frame, node)
    return True


def class_(frame: Frame, node: cst.ClassDef) -> bool:
    """A class definition."""
    frame.analysis.define_class(frame, node)
    return True


def with_(frame: Frame, node: cst.With) -> bool:
    """A context manager: some record a graph, which makes the loop a training loop."""
    leave: list[Callable[[], None]] = []
    asked = NOTHING
    for item in node.items:
        value = evaluate(frame, item.item)
        if type(item.item) is cst.Call:
            name = evaluate_name(frame, item.item.func)
            leave.append(enter_device(frame, name, value))
            asked |= within(frame, name, item.item) or NOTHING
            leave.append(copies.enter_stream(frame, name, item.item))
            if name and frame.analysis.knowledge.step_contexts.find(name):
                records = not item.item.args or dotted(item.item.args[0].value) != "False"
                work = Work.GRADIENTS | Work.UPDATES if records else Work.RUNS_MODEL
                frame.nest.does(work)
        if item.asname is not None:
            store(frame, item.asname.name, _entered(value))
    with frame.guarded(None, asked=asked):
        falls = suite(frame, node.body)
    for end in leave:
        end()
    return falls


def _entered(manager: Value) -> Value:
    """Return what a context manager hands to its block: what it yields, if it is a generator."""
    yields = manager.kind == CONTAINER and manager.element is not None
    return manager.element if yields and manager.element is not None else manager


def try_(frame: Frame, node: cst.Try | cst.TryStar) -> bool:
    """Handlers start from what was known before or after the body, and are rare."""
    with frame.env.fork() as fork:
        falls = suite(frame, node.body)
        if falls and node.orelse is not None:
            falls = suite(frame, node.orelse.body)
        after = fork.take()
        ends = [after] if falls else []
        between = fork.merged(UNCHANGED, after)
        for handler in node.handlers:
            fork.apply(between)
            if _handles(frame, handler, rare=not branches.tells_kinds_apart(node, handler)):
                ends.append(fork.take())
            else:
                fork.take()
        fork.apply(reduce(fork.merged, ends) if ends else between)
    if ends and not falls and not _asks_for_modules(node):
        frame.nest.guard(Guard(len(frame.loops), True))  # only a handler leads to what follows
    if node.finalbody is not None and not suite(frame, node.finalbody.body):
        return False
    return bool(ends)


_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError"})


def _asks_for_modules(node: cst.Try | cst.TryStar) -> bool:
    """Whether a handler is for what an installation lacks: it runs always there, or never."""
    types = [handler.type for handler in node.handlers if handler.type is not None]
    return any(
        dotted(part).rpartition(".")[2] in _MISSING
        for kind in types
        for part in (kind, *walk(kind))
    )


def _handles(
    frame: Frame, handler: cst.ExceptHandler | cst.ExceptStarHandler, *, rare: bool
) -> bool:
    """Run a handler; return whether it falls through."""
    if handler.type is not None:
        evaluate(frame, handler.type)
    if handler.name is not None:
        bind_target(frame, handler.name.name, UNKNOWN_VALUE)
    with frame.guarded(Guard(len(frame.loops), True) if rare else None):
        return suite(frame, handler.body)


def match(frame: Frame, node: cst.Match) -> bool:
    """Each case is one more branch; names it captures are elements of the subject."""
    subject = evaluate(frame, node.subject)
    captured = element_of(frame, subject) if subject.kind == CONTAINER else subject
    with frame.env.fork() as fork:
        ends = [UNCHANGED]
        for case in node.cases:
            for name in _captures(case.pattern):
                frame.env[name] = captured
            if case.guard is not None:
                truth(frame, case.guard)
            falls = suite(frame, case.body)
            end = fork.take()
            if falls:
                ends.append(end)
        fork.apply(reduce(fork.merged, ends))
    return True


def _captures(pattern: cst.CSTNode) -> list[str]:
    return [
        node.name.value
        for node in walk(pattern)
        if isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None
    ]


STATEMENTS: Statements = {
    cst.SimpleStatementLine: line,
    cst.Expr: expression,
    cst.Return: return_,
    cst.Raise: raise_,
    cst.Break: leave,
    cst.Continue: leave,
    cst.Assert: assertion,
    cst.Del: delete,
    cst.Global: declaration,
    cst.Nonlocal: declaration,
    cst.Import: import_,
    cst.ImportFrom: import_from,
    cst.FunctionDef: function,
    cst.ClassDef: class_,
    cst.With: with_,
    cst.Try: try_,
    cst.TryStar: try_,
    cst.Match: match,
}
