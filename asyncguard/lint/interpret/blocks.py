"""Blocks of statements, executed in order."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from asyncguard.lint.contexts.frame import MAX_DEPTH, Frame, evaluate
from asyncguard.lint.domain.values import SYMBOL, Value
from asyncguard.lint.syntax.nodes import parameters


def run(frame: Frame, body: Sequence[cst.CSTNode]) -> bool:
    """Execute statements in order; return whether the end is reached."""
    opened, asked = len(frame.nest.guards), frame.nest.asked
    falls_through = True
    frame.blocks.append((body, 0))
    for index, statement in enumerate(body):
        if index:
            frame.blocks[-1] = (body, index)
        if not execute(frame, statement):
            falls_through = False
            break
    frame.blocks.pop()
    del frame.nest.guards[opened:]
    frame.nest.asked = asked
    return falls_through


def execute(frame: Frame, node: cst.CSTNode) -> bool:
    """Execute one statement."""
    executor = frame.analysis.machine.statements.get(type(node))
    if executor is None:
        return True
    if frame.depth > MAX_DEPTH:
        frame.too_deep()
        return True
    frame.depth += 1
    outer = frame.statement
    frame.statement = node
    result = executor(frame, node)
    frame.statement = outer
    frame.depth -= 1
    return result


def suite(frame: Frame, body: cst.BaseSuite) -> bool:
    """Execute an indented or one-line suite."""
    return run(frame, body.body)


def evaluate_defaults(frame: Frame, function: cst.FunctionDef | cst.Lambda) -> None:
    """Evaluate the defaults of parameters, as Python does where it comes to the definition."""
    for parameter in parameters(function):
        if parameter.default is not None:
            evaluate(frame, parameter.default)


def evaluate_name(frame: Frame, func: cst.BaseExpression) -> str:
    """Return the dotted name, imports resolved, of what is called, or ""."""
    return name_of(evaluate_speculatively(frame, func))


def evaluate_speculatively(frame: Frame, node: cst.BaseExpression) -> Value:
    """Return what is known of an expression, noting nothing."""
    with frame.speculation():
        return evaluate(frame, node)


def name_of(value: Value) -> str:
    """Return the dotted name of something imported, or ""."""
    return value.name if value.kind == SYMBOL else ""
