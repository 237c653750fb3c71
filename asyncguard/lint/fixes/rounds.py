"""In which rounds of a loop to report: what counts them, and the period that the loop has already.

The first round always reports, so that a short loop is not left without output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, argument, flat
from asyncguard.lint.fixes.holding import given, value_of
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    Loop,
    body,
    elements,
    function,
    integer,
    is_for,
    is_name,
    method,
    name_of,
    positional,
)
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Edit

PERIOD = 100
_OWNER = pattern("report.owner")
_METHODS = words("report.methods")
_LEAVING = (cst.Continue, cst.Break, cst.Return, cst.Raise)


class Counter(NamedTuple):
    """What counts the rounds of a loop: `text`, which is `first` in the first, and its step."""

    text: str
    first: str
    step: str = "1"


def periodic(code: Code, loop: cst.For, at: cst.CSTNode) -> tuple[str, tuple[Edit, ...]] | None:
    """Return a condition for every n-th round at a statement of the loop, and what it needs.

    None for a loop that is known to be over before its second report, for a statement that some
    rounds leave out, and where nothing can count.
    """
    length = rounds(code, loop)
    if (length is not None and length <= PERIOD) or _is_left_out(loop, at):
        return None
    for statement in body(loop):
        if isinstance(statement, cst.If) and _is_own_period(code, loop, statement):
            return flat(code.source(statement.test)), ()
    counter = counter_of(code, loop, at)
    return (_every(counter), ()) if counter is not None else _enumerated(code, loop)


def _is_left_out(loop: cst.For, at: cst.CSTNode) -> bool:
    """Whether a round may go on to the next before it comes to a statement of the loop."""
    above = body(loop)[: body(loop).index(at)]
    return any(isinstance(node, cst.Continue) for part in above for node in flow.walk_own(part))


def rounds(code: Code, loop: Loop) -> int | None:
    """Return how often a loop over `range(n)` runs, where that is in the text."""
    source = loop.iter if isinstance(loop, cst.For) else None
    if not isinstance(source, cst.Call) or dotted(source.func) not in {"range", "trange"}:
        return None
    bounds = [_integer(code, bound) for bound in positional(source)]
    numbers = [bound for bound in bounds if bound is not None]
    if not numbers or len(numbers) != len(bounds):
        return None
    return len(range(*numbers)) if 0 not in numbers[2:] else None


def _integer(code: Code, node: Expression) -> int | None:
    if is_name(node) and len(values := given(code, node)) == 1:
        return integer(values[0])
    return integer(node)


def period_of(test: Expression) -> int | None:
    """Return n of `step % n == 0`, where that is a number in the text."""
    remainder = test.left if isinstance(test, cst.Comparison) else test
    if isinstance(remainder, cst.UnaryOperation):
        remainder = remainder.expression
    return integer(remainder.right) if isinstance(remainder, cst.BinaryOperation) else None


def _is_own_period(code: Code, loop: cst.For, branch: cst.If) -> bool:
    """Whether a branch reports every n-th round, by a counter and what the loop does not change."""
    test = branch.test
    is_equal = (
        isinstance(test, cst.Comparison)
        and len(test.comparisons) == 1
        and nodes.operator(test) is cst.Equal
    )
    if not (is_equal or isinstance(test, cst.UnaryOperation)) or not flow.is_periodic(test):
        return False
    if any(isinstance(part, _LEAVING) for line in body(branch) for part in flow.walk_own(line)):
        return False
    if not any(map(is_report, body(branch))):
        return False
    counter = counter_of(code, loop, branch)
    return counter is not None and _is_steady(loop, test, counter.text)


def _is_steady(loop: Loop, node: Expression, counter: str) -> bool:
    """Whether an expression names a counter, and otherwise what the loop does not change."""
    named = {dotted(part) for part in nodes.walk(node)} - {""}
    changing = flow.changed_in(loop) - {counter.partition(".")[0]}
    return counter in named and flow.is_pure(node) and not flow.names(node) & changing


def counter_of(code: Code, loop: Loop, at: cst.CSTNode) -> Counter | None:
    """Return what counts the rounds of a loop, as it stands at a statement."""
    found = _counted_by_header(loop) if is_for(loop) else None
    return found or next(
        (counter for line in body(loop) if (counter := _incremented(code, loop, line, at))), None
    )


def _counted_by_header(loop: cst.For) -> Counter | None:
    source, target = loop.iter, loop.target
    if not isinstance(source, cst.Call) or nodes.has_star(source):
        return None
    handed = positional(source)
    begins: Sequence[Expression] = []
    steps: Sequence[Expression] = []
    if function(source) == "enumerate" and isinstance(target, cst.Tuple):
        start = nodes.keyword(source, "start")
        name = name_of(elements(target)[0])
        begins = [*handed[1:2], *([start] if start is not None else [])]
    elif function(source) in {"range", "trange"}:
        name = name_of(target)
        begins, steps = handed[: len(handed) > 1], handed[2:3]
    else:
        return None
    if not name or name in flow.changed(body(loop)):
        return None
    named = [written(loop, each[0]) if each else default
             for each, default in ((begins, "0"), (steps, "1"))]  # fmt: skip
    return Counter(name, *named) if all(named) else None


def written(loop: cst.For, node: Expression) -> str:
    """Return the text of a number, or of a name that the loop does not change; "" of others."""
    if (number := integer(node)) is not None:
        return str(number)
    name = dotted(node) if not nodes.is_constant(node) else ""
    return name if name and not flow.names(node) & flow.changed_in(loop) else ""


def _incremented(code: Code, loop: Loop, line: cst.CSTNode, at: cst.CSTNode) -> Counter | None:
    """Return what a statement of the loop alone adds 1 to: `step += 1`, `self.step += 1`."""
    if not isinstance(line, cst.AugAssign) or not isinstance(line.operator, cst.AddAssign):
        return None
    if nodes.constant(line.value) != 1:
        return None
    name, scope = dotted(line.target), code.scope(loop)
    uses = (use for use in flow.uses(scope, name) if use is not line.target)
    stores = [use for use in uses if code.is_stored(use)]
    if name.count(".") > name.startswith("self.") or len(stores) != 1:
        return None
    made = code.statement(stores[0])
    is_above = isinstance(made, cst.Assign) and code.line(made) < code.line(loop)
    start = integer(value_of(made, name)) if is_above else None
    if start is None:
        return None
    statements = body(loop)
    above = at in statements and statements.index(line) < statements.index(at)
    return Counter(name, str(start + above))


def _every(counter: Counter) -> str:
    """Return a condition for every n-th number of a counter, the first among them."""
    if not counter.step.isdigit():
        period = f"({PERIOD} * {counter.step})"
    else:
        period = str(PERIOD * int(counter.step))
    if not counter.first.lstrip("-").isdigit():
        return f"({counter.text} - {counter.first}) % {period} == 0"
    if counter.first == "0" or not period.isdigit():
        left = counter.text if counter.first == "0" else f"({counter.text} - {counter.first})"
        return f"{left} % {period} == 0"
    return f"{counter.text} % {period} == {int(counter.first) % int(period)}"


def _enumerated(code: Code, loop: cst.For) -> tuple[str, tuple[Edit, ...]] | None:
    """Count the rounds in the header of the loop."""
    target = argument(code, loop.target)
    if "\n" in target or loop.asynchronous is not None:
        return None
    name = code.fresh("step", loop)
    edits = (
        code.replace(loop.target, f"{name}, {target}"),
        code.replace(loop.iter, f"enumerate({argument(code, loop.iter)})"),
    )
    return f"{name} % {PERIOD} == 0", edits


def is_report(statement: cst.CSTNode) -> bool:
    """Whether a statement only shows something."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call):
        return False
    shown = (part for value in nodes.given(call) for part in _plain(value))
    if not all(map(flow.is_pure, shown)):
        return False
    if not isinstance(call.func, cst.Attribute):
        return function(call) == "print"
    if method(call) not in _METHODS:
        return False
    owner = call.func.value
    return _OWNER.search(name_of(owner) or nodes.attribute(owner)) is not None


def _plain(value: Expression) -> list[Expression]:
    """Return the arguments of `"...".format(...)`, which makes nothing but text."""
    if method(value) == "format" and nodes.is_constant(value.func.value):  # type: ignore[attr-defined]
        return nodes.given(value)  # type: ignore[arg-type]
    return [value]
