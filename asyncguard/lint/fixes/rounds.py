"""In which rounds of a loop to report: what counts them, and the period that the loop has already.

The first round always reports, so that a short loop is not left without output.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, Loop, argument, dotted, flat
from asyncguard.lint.fixes.holding import given, value_of
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.lint.source import parsed
from asyncguard.model import Edit

PERIOD = 100
_OWNER = pattern("report.owner")
_METHODS = words("report.methods")
_LEAVING = (ast.Continue, ast.Break, ast.Return, ast.Raise)


class Counter(NamedTuple):
    """What counts the rounds of a loop: `text`, which is `first` in the first, and its step."""

    text: str
    first: str
    step: str = "1"


def periodic(code: Code, loop: ast.For, at: ast.stmt) -> tuple[str, tuple[Edit, ...]] | None:
    """Return a condition for every n-th round at a statement of the loop, and what it needs.

    None for a loop that is known to be over before its second report, for a statement that some
    rounds leave out, and where nothing can count.
    """
    length = rounds(code, loop)
    if (length is not None and length <= PERIOD) or _is_left_out(loop, at):
        return None
    for statement in loop.body:
        if isinstance(statement, ast.If) and _is_own_period(code, loop, statement):
            return flat(code.source(statement.test)), ()
    counter = counter_of(code, loop, at)
    return (_every(counter), ()) if counter is not None else _enumerated(code, loop)


def _is_left_out(loop: ast.For, at: ast.stmt) -> bool:
    """Whether a round may go on to the next before it comes to a statement of the loop."""
    above = loop.body[: loop.body.index(at)]
    return any(isinstance(node, ast.Continue) for part in above for node in flow.walk_own(part))


def rounds(code: Code, loop: Loop) -> int | None:
    """Return how often a loop over `range(n)` runs, where that is in the text."""
    source = loop.iter if not isinstance(loop, ast.While) else None
    if not isinstance(source, ast.Call) or dotted(source.func) not in {"range", "trange"}:
        return None
    bounds = [_integer(code, bound) for bound in source.args]
    if not bounds or None in bounds or len(bounds) != len(source.args):
        return None
    numbers = [bound for bound in bounds if bound is not None]
    return len(range(*numbers)) if 0 not in numbers[2:] else None


def _integer(code: Code, node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name) and len(values := given(code, node)) == 1:
        value = values[0]
        return value.value if isinstance(value, ast.Constant) and type(value.value) is int else None
    return None


def period_of(test: ast.expr) -> int | None:
    """Return n of `step % n == 0`, where that is a number in the text."""
    remainder = test.left if isinstance(test, ast.Compare) else test
    remainder = remainder.operand if isinstance(remainder, ast.UnaryOp) else remainder
    if not isinstance(remainder, ast.BinOp) or not isinstance(remainder.right, ast.Constant):
        return None
    return remainder.right.value if type(remainder.right.value) is int else None


def _is_own_period(code: Code, loop: ast.For, branch: ast.If) -> bool:
    """Whether a branch reports every n-th round, by a counter and what the loop does not change."""
    test = branch.test
    is_equal = isinstance(test, ast.Compare) and [*map(type, test.ops)] == [ast.Eq]
    if not (is_equal or isinstance(test, ast.UnaryOp)) or not flow.is_periodic(test):
        return False
    if any(isinstance(part, _LEAVING) for line in branch.body for part in flow.walk_own(line)):
        return False
    if not any(map(is_report, branch.body)):
        return False
    counter = counter_of(code, loop, branch)
    return counter is not None and _is_steady(loop, test, counter.text)


def _is_steady(loop: Loop, node: ast.expr, counter: str) -> bool:
    """Whether an expression names a counter, and otherwise what the loop does not change."""
    named = {dotted(part) for part in parsed.walk(node)} - {""}
    changing = flow.changed_in(loop) - {counter.partition(".")[0]}
    return counter in named and flow.is_pure(node) and not flow.names(node) & changing


def counter_of(code: Code, loop: Loop, at: ast.stmt) -> Counter | None:
    """Return what counts the rounds of a loop, as it stands at a statement."""
    found = _counted_by_header(loop) if isinstance(loop, ast.For) else None
    return found or next(
        (counter for line in loop.body if (counter := _incremented(code, loop, line, at))), None
    )


def _counted_by_header(loop: ast.For) -> Counter | None:
    source, target = loop.iter, loop.target
    name = dotted(source.func) if isinstance(source, ast.Call) else ""
    if not isinstance(source, ast.Call) or any(isinstance(a, ast.Starred) for a in source.args):
        return None
    begins: list[ast.expr] = []
    steps: list[ast.expr] = []
    if name == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
        begins = [*source.args[1:2], *(k.value for k in source.keywords if k.arg == "start")]
    elif name in {"range", "trange"}:
        begins, steps = source.args[: len(source.args) > 1], source.args[2:3]
    else:
        return None
    if not isinstance(target, ast.Name) or target.id in flow.changed(loop.body):
        return None
    named = [written(loop, each[0]) if each else default
             for each, default in ((begins, "0"), (steps, "1"))]  # fmt: skip
    return Counter(target.id, *named) if all(named) else None


def written(loop: ast.For, node: ast.expr) -> str:
    """Return the text of a number, or of a name that the loop does not change; "" of others."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return str(node.value)
    name = dotted(node)
    return name if name and not flow.names(node) & flow.changed_in(loop) else ""


def _incremented(code: Code, loop: Loop, line: ast.stmt, at: ast.stmt) -> Counter | None:
    """Return what a statement of the loop alone adds 1 to: `step += 1`, `self.step += 1`."""
    if not isinstance(line, ast.AugAssign) or not isinstance(line.op, ast.Add):
        return None
    if not isinstance(line.value, ast.Constant) or line.value.value != 1:
        return None
    name, scope = dotted(line.target), code.scope(loop)
    uses = (use for use in flow.uses(scope, name) if use is not line.target)
    stores = [use for use in uses if not isinstance(use.ctx, ast.Load)]  # type: ignore[attr-defined]
    if name.count(".") > name.startswith("self.") or len(stores) != 1:
        return None
    made = code.statement(stores[0])
    is_above = isinstance(made, ast.Assign) and made.lineno < loop.lineno
    start = value_of(made, name) if is_above else None  # type: ignore[arg-type]
    if not isinstance(start, ast.Constant) or type(start.value) is not int:
        return None
    above = at in loop.body and loop.body.index(line) < loop.body.index(at)
    return Counter(name, str(start.value + above))


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


def _enumerated(code: Code, loop: ast.For) -> tuple[str, tuple[Edit, ...]] | None:
    """Count the rounds in the header of the loop."""
    target = argument(code, loop.target)
    if "\n" in target or isinstance(loop, ast.AsyncFor):
        return None
    name = code.fresh("step", loop)
    edits = (
        code.replace(loop.target, f"{name}, {target}"),
        code.replace(loop.iter, f"enumerate({argument(code, loop.iter)})"),
    )
    return f"{name} % {PERIOD} == 0", edits


def is_report(statement: ast.stmt) -> bool:
    """Whether a statement only shows something."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    inner = [*call.args, *(k.value for k in call.keywords)]
    if not all(flow.is_pure(_plain(value)) for value in inner):
        return False
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "print"
    if not isinstance(function, ast.Attribute) or function.attr not in _METHODS:
        return False
    owner = function.value
    name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
    return _OWNER.search(name) is not None


def _plain(value: ast.expr) -> ast.expr:
    """Return the arguments of `"...".format(...)`, which makes nothing but text."""
    is_format = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
    if is_format and value.func.attr == "format" and isinstance(value.func.value, ast.Constant):  # type: ignore[attr-defined]
        return ast.Tuple([*value.args, *(k.value for k in value.keywords)], ast.Load())  # type: ignore[attr-defined]
    return value
