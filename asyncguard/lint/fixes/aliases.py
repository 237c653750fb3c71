"""Which variables of a function may share memory, and which of that the world outside may reach.

Variables that may hold one object, a view of it or a list with it are one group. What is given to
code that is not known, kept in an object that is not known, or mentioned in a nested function is in
the group `OUTSIDE`, with all parameters: any call may change it. The order of statements is left
out of account, so a group holds for all of its function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from asyncguard.lint.fixes import bindings, flow, libraries, sorts
from asyncguard.lint.fixes.code import Code, Scope
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.words import words
from asyncguard.lint.source import parsed

OUTSIDE = ""
Names = frozenset[str]
_NONE: Names = frozenset()
_RUNNING = words("sort.running")


class Groups:
    """The groups of the variables of one scope."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Return the name that stands for a variable's group."""
        while (above := self._above.get(name, name)) != name:
            name = above
        return name

    def of_all(self, names: Iterable[str]) -> Names:
        """Return the groups of some variables."""
        return frozenset(map(self.of, names))

    def others(self, name: str) -> Names:
        """Return the other names of a variable's group."""
        own = self.of(name)
        known = {*self._above, *self._above.values()}
        return frozenset(other for other in known if self.of(other) == own) - {name}

    def unite(self, names: Iterable[str]) -> None:
        """Make one group of several, `OUTSIDE` standing for what it is in."""
        found = sorted(self.of_all(names))  # OUTSIDE comes first
        self._above.update(dict.fromkeys(found[1:], found[0]) if found else {})


@kept(OF_SCOPES)
def groups(code: Code, scope: Scope, *, in_view: bool = False) -> Groups:
    """Return the groups of a scope's variables, of all that may be or of what is in view."""
    found = Groups()
    if not in_view:
        found.unite({OUTSIDE, *_reached(code, scope)})
    for united in _united(code, scope, in_view):
        found.unite(united - {OUTSIDE} if in_view else united)
    return found


def _reached(code: Code, scope: Scope) -> Iterable[str]:
    """Return the variables of a scope that others can name: a caller, or a nested function."""
    own = bindings.own_names(scope)
    if isinstance(scope, (ast.Lambda, ast.ClassDef)):
        return own
    return flow.parameters(scope) | {name for name in own if not flow.is_private(code, scope, name)}


def shares(code: Code, node: ast.AST, *, in_view: bool = False) -> Names:
    """Return the variables whose memory the value of an expression may hold, or `OUTSIDE`."""
    if isinstance(node, ast.expr) and sorts.is_plain(code, node):
        return _NONE
    if isinstance(node, ast.Name):
        is_own = in_view or node.id in bindings.own_names(code.scope(node))
        return frozenset({node.id if is_own else OUTSIDE})
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)) and (
        in_view or sorts.is_array(code, node)
    ):
        is_same = isinstance(getattr(node, "op", None), ast.UAdd)
        return _inner(code, node, in_view) if is_same else _NONE
    if isinstance(node, ast.Call):
        return _NONE if makes_anew(code, node) else _of_call(code, node, in_view)
    if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda)):
        return _inner(code, node, in_view) | {OUTSIDE}
    return _inner(code, node, in_view)


def _inner(code: Code, node: ast.AST, in_view: bool) -> Names:
    found = (shares(code, child, in_view=in_view) for child in parsed.children(node))
    return _NONE.union(*found)


def makes_anew(code: Code, call: ast.Call) -> bool:
    """Whether what a call gives is an array that nothing else holds."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name not in libraries.FRESH or any(k.arg in {"out", None} for k in call.keywords):
        return False
    return sorts.is_array(code, call)


def _of_call(code: Code, call: ast.Call, in_view: bool) -> Names:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    name = ""
    if isinstance(call.func, ast.Attribute):
        name = call.func.attr
        if not libraries.library_name(code, call.func):
            given.append(call.func.value)
    found = _NONE.union(*(shares(code, part, in_view=in_view) for part in given))
    if is_known(code, call):
        return found
    shared = name in libraries.SHARED | flow.VIEWS or libraries.is_in_place(name)
    return found | {OUTSIDE} if not in_view else found if shared else _NONE


def is_known(code: Code, call: ast.Call) -> bool:
    """Whether it is clear what a call runs: a builtin, a library, or a method of a known value."""
    function = call.func
    meaning = libraries.library_name(code, function)
    if meaning:
        return (
            libraries.is_plain_function(meaning)
            or meaning in libraries.CONTEXTS
            or (
                libraries.is_of_libraries(meaning)
                and libraries.is_listed(meaning.rpartition(".")[2])
            )
        )
    if not isinstance(function, ast.Attribute):
        return libraries.builtin_name(code, function) in libraries.KNOWN_BUILTINS
    owner = sorts.sort_of(code, function.value)
    if owner.depth:
        return function.attr in libraries.MUTATORS | libraries.CONTAINER_METHODS
    if owner == sorts.NUMBER:
        return True
    if not sorts.is_array(code, function.value):
        return False
    return libraries.is_listed(function.attr) or function.attr in _RUNNING


def runs_graph(code: Code, call: ast.Call) -> bool:
    """Whether it is `loss.backward()` of an array: hooks may run, and gradients are written."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in _RUNNING


# ---- what unites variables


def _united(code: Code, scope: Scope, in_view: bool) -> Iterator[Names]:
    for binding in bindings.bindings(code, scope):
        yield _named(code, binding, in_view)
    for node in flow.walk_own(scope):
        yield from _united_by(code, node, in_view)


def _named(code: Code, binding: bindings.Binding, in_view: bool) -> Names:
    held = {OUTSIDE} if binding.value is None else _kept_of(code, binding, in_view)
    return frozenset(held | {binding.name} if held else held)


def _united_by(code: Code, node: ast.AST, in_view: bool) -> Iterator[Names]:
    """Yield what a single node brings together but for what it binds."""
    if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
        yield _NONE if in_view else _inner(code, node, in_view) | {OUTSIDE}
    elif isinstance(node, ast.Match):
        yield shares(code, node.subject, in_view=in_view) | {OUTSIDE}
    elif isinstance(node, ast.withitem):
        yield shares(code, node.context_expr, in_view=in_view) | {OUTSIDE}
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (_stored(code, target, node.value, in_view) for target in targets)
    elif isinstance(node, ast.Call) and _brings_together(code, node, in_view):
        yield _of_call(code, node, in_view)


def is_shared_by(code: Code, stretch: Iterable[ast.stmt], name: str) -> bool:
    """Whether code plainly lets another variable, list or object hold what a variable holds.

    A view of it counts, and so does handing it to the caller. Calls that are not known are
    believed to keep nothing, so a repair that rests on this is unsafe.
    """
    found = Groups()
    for node in (node for part in stretch for node in flow.walk_own(part)):
        if isinstance(node, (ast.Yield, ast.YieldFrom)) and name in flow.names(node):
            return True
        for binding, _ in bindings.of_node(code, node):
            found.unite(_named(code, binding, True) - {OUTSIDE})
        for united in _united_by(code, node, True):
            found.unite(united - {OUTSIDE})
    return bool(found.others(name))


def _kept_of(code: Code, binding: bindings.Binding, in_view: bool) -> Names:
    """Return the variables whose memory a variable may hold from one binding."""
    assert binding.value is not None
    sort = sorts.sort_of(code, binding.value)
    is_number = sort.element == sorts.PLAIN and sort.depth <= binding.taken
    if is_number and not binding.is_listed:
        return _NONE
    return shares(code, binding.value, in_view=in_view)


def _stored(code: Code, target: ast.expr, value: ast.expr, in_view: bool) -> Names:
    """Return the variables that hold an object, with those of what is put into it."""
    found = _NONE
    for part in parsed.walk(target):
        if not isinstance(part, (ast.Attribute, ast.Subscript)) or isinstance(part.ctx, ast.Load):
            continue
        if isinstance(part, ast.Attribute) or not sorts.is_array(code, part.value):
            found |= shares(code, part.value, in_view=in_view)
    return found | shares(code, value, in_view=in_view) if found else found


def _brings_together(code: Code, call: ast.Call, in_view: bool) -> bool:
    """Whether a call may let one of what it is given hold another: a list its new element."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return not in_view and not is_known(code, call)
    if in_view:
        return function.attr in libraries.MUTATORS
    return not is_known(code, call) or bool(sorts.sort_of(code, function.value).depth)
