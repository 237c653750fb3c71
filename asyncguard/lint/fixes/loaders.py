"""Which `DataLoader(...)` of a file an expression comes from.

Through variables, progress bars, what the callers of a function pass, what a function of the file
returns, and what a class keeps in an attribute. None where any of that is unclear.
"""

from __future__ import annotations

import ast

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, dotted
from asyncguard.lint.fixes.words import words
from asyncguard.lint.source import parsed

_DEPTH = 6
_WRAPPERS = words("loop.wrappers")


def loaders(code: Code, source: ast.expr, depth: int = _DEPTH) -> list[ast.Call] | None:
    """Return the calls that make what an expression may be; None where not all are in view."""
    if not depth:
        return None
    if isinstance(source, ast.Call):
        meaning = code.meaning(source.func)
        if meaning.startswith("torch.utils.data") and meaning.endswith("DataLoader"):
            return [source]
        if dotted(source.func).rpartition(".")[2] in _WRAPPERS and source.args:
            return loaders(code, source.args[0], depth - 1)
        return _of_all(code, _returned(code, source.func), depth)
    if isinstance(source, ast.Name):
        return _of_all(code, _held(code, source), depth)
    if isinstance(source, ast.Attribute) and isinstance(source.value, ast.Name):
        return _of_all(code, _kept(code, source), depth)
    return None


def _of_all(code: Code, sources: list[ast.expr] | None, depth: int) -> list[ast.Call] | None:
    found: list[ast.Call] = []
    for source in sources or ():
        made = loaders(code, source, depth - 1)
        if made is None:
            return None
        found += [call for call in made if call not in found]
    return found or None


def _held(code: Code, name: ast.Name) -> list[ast.expr] | None:
    """Return what a variable was assigned, once, or what each caller passes for a parameter."""
    scope = code.scope(name)
    values = flow.assignments(scope, name.id)
    if name.id in flow.parameters(scope):
        return _passed(code, scope, name.id) if not values else None
    if not values:
        scope, values = code.tree, flow.assignments(code.tree, name.id)
    if len(values) != 1:
        return None
    return [values[0]] if values[0] is not None else _entered(scope, name.id)


def _entered(scope: ast.AST, name: str) -> list[ast.expr] | None:
    """Return the `tqdm(loader)` of `with tqdm(loader) as name`, which gives its batches."""
    items = (node for node in flow.walk_own(scope) if isinstance(node, ast.withitem))
    return [
        item.context_expr
        for item in items
        if isinstance(item.optional_vars, ast.Name)
        and item.optional_vars.id == name
        and isinstance(item.context_expr, ast.Call)
        and dotted(item.context_expr.func).rpartition(".")[2] in _WRAPPERS
    ] or None


def _passed(code: Code, scope: ast.AST, parameter: str) -> list[ast.expr] | None:
    """Return what the calls in the file pass to a function, or to the class it makes."""
    if not isinstance(scope, ast.FunctionDef):
        return None
    around = code.parent(scope)
    is_method = isinstance(around, ast.ClassDef)
    if is_method and scope.name != "__init__":
        return None
    called = around.name if isinstance(around, ast.ClassDef) else scope.name
    names = [argument.arg for argument in (*scope.args.posonlyargs, *scope.args.args)][is_method:]
    passed: list[ast.expr] = []
    for use in flow.uses(code.tree, called):
        call = code.parent(use)
        if not isinstance(call, ast.Call) or call.func is not use:
            return None
        given = _argument(call, parameter, names)
        if given is None:
            return None
        passed.append(given)
    return passed


def _argument(call: ast.Call, parameter: str, names: list[str]) -> ast.expr | None:
    """Return what a call passes for a parameter, if that is plain to see."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    named = next((k.value for k in call.keywords if k.arg == parameter), None)
    at = names.index(parameter) if parameter in names else len(call.args)
    return named if named is not None or at >= len(call.args) else call.args[at]


def _returned(code: Code, function: ast.expr) -> list[ast.expr] | None:
    """Return what a function of the file returns."""
    if not isinstance(function, ast.Name):
        return None
    known = [s for s in code.tree.body if isinstance(s, FUNCTIONS) and s.name == function.id]
    if len(known) != 1:
        return None
    values = [node.value for node in flow.walk_own(known[0]) if isinstance(node, ast.Return)]
    return None if None in values else [value for value in values if value is not None]


def _kept(code: Code, attribute: ast.Attribute) -> list[ast.expr] | None:
    """Return what a class assigns to an attribute of its own, in one place."""
    around = code.around(attribute, ast.ClassDef)
    if around is None or not isinstance(attribute.value, ast.Name) or attribute.value.id != "self":
        return None
    values = [
        node.value
        for node in parsed.walk(around)
        if isinstance(node, ast.Assign)
        and any(
            isinstance(target, ast.Attribute) and target.attr == attribute.attr
            for target in node.targets
        )
    ]
    return values if len(values) == 1 else None
