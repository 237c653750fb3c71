"""Which `DataLoader(...)` of a file an expression comes from.

Through variables, progress bars, what the callers of a function pass, what a function of the file
returns, and what a class keeps in an attribute. None where any of that is unclear.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    attribute,
    called,
    is_name,
    name_of,
    positional,
    targets,
    walk,
)

_DEPTH = 6
_WRAPPERS = words("loop.wrappers")


def loaders(code: Code, source: Expression, depth: int = _DEPTH) -> list[cst.Call] | None:
    """Return the calls that make what an expression may be; None where not all are in view."""
    if not depth:
        return None
    if isinstance(source, cst.Call):
        meaning = code.meaning(source.func)
        if meaning.startswith("torch.utils.data") and meaning.endswith("DataLoader"):
            return [source]
        if called(source) in _WRAPPERS and (given := positional(source)):
            return loaders(code, given[0], depth - 1)
        return _of_all(code, _returned(code, source.func), depth)
    if isinstance(source, cst.Name):
        return _of_all(code, _held(code, source), depth)
    if isinstance(source, cst.Attribute) and is_name(source.value):
        return _of_all(code, _kept(code, source), depth)
    return None


def _of_all(code: Code, sources: Sequence[Expression] | None, depth: int) -> list[cst.Call] | None:
    found: list[cst.Call] = []
    for source in sources or ():
        made = loaders(code, source, depth - 1)
        if made is None:
            return None
        found += [call for call in made if call not in found]
    return found or None


def _held(code: Code, node: cst.Name) -> list[Expression] | None:
    """Return what a variable was assigned, once, or what each caller passes for a parameter."""
    scope, name = code.scope(node), node.value
    values = flow.assignments(scope, name)
    if name in flow.parameters(scope):
        return _passed(code, scope, name) if not values else None
    if not values:
        scope, values = code.tree, flow.assignments(code.tree, name)
    if len(values) != 1:
        return None
    return [values[0]] if values[0] is not None else _entered(scope, name)


def _entered(scope: cst.CSTNode, name: str) -> list[Expression] | None:
    """Return the `tqdm(loader)` of `with tqdm(loader) as name`, which gives its batches."""
    items = (node for node in flow.walk_own(scope) if isinstance(node, cst.WithItem))
    return [
        item.item
        for item in items
        if item.asname is not None and name_of(item.asname.name) == name
        and called(item.item) in _WRAPPERS
    ] or None  # fmt: skip


def _passed(code: Code, scope: cst.CSTNode, parameter: str) -> list[Expression] | None:
    """Return what the calls in the file pass to a function, or to the class it makes."""
    if not isinstance(scope, cst.FunctionDef) or scope.asynchronous is not None:
        return None
    around = code.outer(scope)
    is_method = isinstance(around, cst.ClassDef)
    if is_method and scope.name.value != "__init__":
        return None
    made = around if isinstance(around, cst.ClassDef) else scope
    taken = (*scope.params.posonly_params, *scope.params.params)
    names = [each.name.value for each in taken][is_method:]
    passed: list[Expression] = []
    for use in flow.uses(code.tree, made.name.value):
        call = code.parent(use)
        if not isinstance(call, cst.Call) or call.func is not use:
            return None
        given = _argument(call, parameter, names)
        if given is None:
            return None
        passed.append(given)
    return passed


def _argument(call: cst.Call, parameter: str, names: list[str]) -> Expression | None:
    """Return what a call passes for a parameter, if that is plain to see."""
    if nodes.has_star(call):
        return None
    named, given = nodes.keyword(call, parameter), positional(call)
    at = names.index(parameter) if parameter in names else len(given)
    return named if named is not None or at >= len(given) else given[at]


def _returned(code: Code, function: Expression) -> list[Expression] | None:
    """Return what a function of the file returns."""
    name = name_of(function)
    known = [s for s in code.tree.body if isinstance(s, cst.FunctionDef) and s.name.value == name]
    if len(known) != 1:
        return None
    values = [node.value for node in flow.walk_own(known[0]) if isinstance(node, cst.Return)]
    return None if None in values else [value for value in values if value is not None]


def _kept(code: Code, node: cst.Attribute) -> list[Expression] | None:
    """Return what a class assigns to an attribute of its own, in one place."""
    around = code.around(node, cst.ClassDef)
    if around is None or name_of(node.value) != "self":
        return None
    values = [
        part.value
        for part in walk(around)
        if isinstance(part, cst.Assign)
        and any(attribute(target) == attribute(node) for target in targets(part))
    ]
    return values if len(values) == 1 else None
