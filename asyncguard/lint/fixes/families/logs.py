"""A line that reports a device value in every step: report every n-th step.

The loop's own period is taken, if another report of it has one, else 100 steps; a loop without a
counter gets one from `enumerate`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.model import Applicability, Edit, Fix

ORDER = 50
PERIOD = 100
_LOGGER = pattern("report.owner")
_METHODS = words("report.methods")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each report, once for all that it reads."""
    reports: dict[int, list[Spot]] = {}
    for spot in spots:
        reports.setdefault(id(spot.statement), []).append(spot)
    for group in reports.values():
        if (fix := _fix(group[0])) is not None:
            yield Repair(fix, tuple(group))


def _fix(spot: Spot) -> Fix | None:
    loop = next(iter(flow.loops_around(spot.code, spot.statement)), None)
    if not isinstance(loop, ast.For) or spot.body is not loop.body:
        return None
    found = thinned(spot.code, loop, spot.statement)
    if found is None:
        return None
    test, edits = found
    return Fix(f"report only in the steps where `{test}`", edits, Applicability.UNSAFE)


def thinned(
    code: Code, loop: ast.For, statement: ast.stmt, *above: str
) -> tuple[str, tuple[Edit, ...]] | None:
    """Return when a report of a loop is made from now on, and the edits; lines go above it."""
    if not is_report(statement) or code.indent(loop) is None:
        return None
    indent = code.indent(statement)
    if indent is None or not code.is_alone(statement):
        return None
    periodic = counted(code, loop)
    if periodic is None:
        return None
    test, edits = periodic
    first, last = statement.lineno, statement.end_lineno or 0
    lines = code.lines[first - 1 : last]
    if len(lines) > 1 and any(mark in code.source(statement) for mark in ('"""', "'''")):
        return None
    step = _unit(code, loop)
    lines = [*(f"{indent}{line}" for line in above), *lines]
    inner = "\n".join(f"{step}{line}" if line.strip() else line for line in lines)
    block = f"{indent}if {test}:\n{inner}"
    return test, (*edits, Edit(first, 0, last, len(code.lines[last - 1]), block))


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
    return _LOGGER.search(name) is not None


def _plain(value: ast.expr) -> ast.expr:
    """Return the arguments of `"...".format(...)`, which makes nothing but text."""
    is_format = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
    if is_format and value.func.attr == "format" and isinstance(value.func.value, ast.Constant):  # type: ignore[attr-defined]
        return ast.Tuple([*value.args, *(k.value for k in value.keywords)], ast.Load())  # type: ignore[attr-defined]
    return value


def counted(code: Code, loop: ast.For) -> tuple[str, tuple[Edit, ...]] | None:
    """Return the condition of a report, and what makes the counter that it needs."""
    for statement in loop.body:
        if isinstance(statement, ast.If) and flow.is_periodic(statement.test):
            text = code.source(statement.test)
            if isinstance(statement.test, ast.Compare) and _is_counted_by(loop, statement.test):
                return flat(text), ()
    counter = _counter(loop)
    if counter is not None:
        return f"{counter} % {PERIOD} == 0", ()
    name = code.fresh("step")
    target = code.source(loop.target)
    if isinstance(loop.target, ast.Tuple):
        target = target if target.startswith("(") else f"({target})"
    if "\n" in target or isinstance(loop, ast.AsyncFor):
        return None
    edits = (
        code.replace(loop.target, f"{name}, {target}"),
        code.replace(loop.iter, f"enumerate({code.source(loop.iter)})"),
    )
    return f"{name} % {PERIOD} == 0", edits


def _is_counted_by(loop: ast.For, test: ast.Compare) -> bool:
    """Whether a condition asks for nothing but the loop's own counter, which nobody changes."""
    counter = _counter(loop)
    left = test.left
    assert isinstance(left, ast.BinOp)
    return counter is not None and counter in flow.names(left.left)


def _counter(loop: ast.For) -> str | None:
    """Return what counts the rounds of a loop."""
    source, target = loop.iter, loop.target
    function = source.func if isinstance(source, ast.Call) else None
    name = function.id if isinstance(function, ast.Name) else ""
    found: ast.expr | None = None
    if name == "enumerate" and isinstance(target, ast.Tuple):
        found = target.elts[0]
    elif name in {"range", "trange"}:
        found = target
    if isinstance(found, ast.Name) and found.id not in flow.changed(loop.body):
        return found.id
    return None


def _unit(code: Code, loop: ast.For) -> str:
    """Return by how much the file indents."""
    inner, outer = code.indent(loop.body[0]) or "", code.indent(loop) or ""
    return inner[len(outer) :] or "    "
