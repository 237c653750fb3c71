"""Which variables of a function may share memory, and which of that the world outside may reach.

Variables that may hold one object, a view of it or a list with it are one group. What is given to
code that is not known, kept in an object that is not known, or mentioned in a nested function is in
the group `OUTSIDE`, with all parameters: any call may change it. The order of statements is left
out of account, so a group holds for all of its function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from asyncguard.lint.fixes import bindings, flow, lattice, libraries, sorts
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.words import words
from asyncguard.lint.names import is_in_place
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import Expression, Scope, is_name, method
from asyncguard.lint.syntax.tree import expressions

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
    if isinstance(scope, (cst.Lambda, cst.ClassDef)):
        return own
    return flow.parameters(scope) | {name for name in own if not flow.is_private(code, scope, name)}


def shares(code: Code, node: cst.CSTNode, *, in_view: bool = False) -> Names:
    """Return the variables whose memory the value of an expression may hold, or `OUTSIDE`.

    An `x += y` stands for the operation.
    """
    if isinstance(node, (Expression, cst.AugAssign)) and sorts.is_plain(code, node):
        return _NONE
    match node:
        case cst.Name() if is_name(node):
            is_own = in_view or node.value in bindings.own_names(code.scope(node))
            return frozenset({node.value if is_own else OUTSIDE})
        case cst.BinaryOperation() | cst.UnaryOperation() | cst.Comparison() | cst.AugAssign() if (
            in_view or sorts.is_array(code, node)
        ):
            is_same = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Plus)
            return _inner(code, node, in_view) if is_same else _NONE
        case cst.Call():
            return _NONE if makes_anew(code, node) else _of_call(code, node, in_view)
        case cst.Await() | cst.Yield() | cst.Lambda():
            return _inner(code, node, in_view) | {OUTSIDE}
    return _inner(code, node, in_view)


def _inner(code: Code, node: cst.CSTNode, in_view: bool) -> Names:
    found = (shares(code, child, in_view=in_view) for child in expressions(node))
    return _NONE.union(*found)


def makes_anew(code: Code, call: cst.Call) -> bool:
    """Whether what a call gives is an array that nothing else holds."""
    if method(call) not in libraries.FRESH or {"out", ""} & nodes.keywords(call).keys():
        return False
    return sorts.is_array(code, call)


def _of_call(code: Code, call: cst.Call, in_view: bool) -> Names:
    given, name = nodes.given(call), method(call)
    if isinstance(call.func, cst.Attribute) and not libraries.library_name(code, call.func):
        given.append(call.func.value)
    found = _NONE.union(*(shares(code, part, in_view=in_view) for part in given))
    if is_known(code, call):
        return found
    shared = name in libraries.SHARED | flow.VIEWS or is_in_place(name)
    return found | {OUTSIDE} if not in_view else found if shared else _NONE


def is_known(code: Code, call: cst.Call) -> bool:
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
    if not isinstance(function, cst.Attribute):
        return libraries.builtin_name(code, function) in libraries.KNOWN_BUILTINS
    owner, name = sorts.sort_of(code, function.value), method(call)
    if owner.depth:
        return name in libraries.MUTATORS | libraries.CONTAINER_METHODS
    if owner == lattice.NUMBER:
        return True
    if not sorts.is_array(code, function.value):
        return False
    return libraries.is_listed(name) or name in _RUNNING


def runs_graph(code: Code, call: cst.Call) -> bool:
    """Whether it is `loss.backward()` of an array: hooks may run, and gradients are written."""
    return method(call) in _RUNNING


# ---- what unites variables


def _united(code: Code, scope: Scope, in_view: bool) -> Iterator[Names]:
    for binding in bindings.bindings(code, scope):
        yield _named(code, binding, in_view)
    for node in flow.walk_own(scope):
        yield from _united_by(code, node, in_view)


def _named(code: Code, binding: bindings.Binding, in_view: bool) -> Names:
    held = {OUTSIDE} if binding.value is None else _kept_of(code, binding, in_view)
    return frozenset(held | {binding.name} if held else held)


def _united_by(code: Code, node: cst.CSTNode, in_view: bool) -> Iterator[Names]:
    """Yield what a single node brings together but for what it binds."""
    match node:
        case cst.Yield() | cst.Await():
            yield _NONE if in_view else _inner(code, node, in_view) | {OUTSIDE}
        case cst.Match(subject=value) | cst.WithItem(item=value):
            yield shares(code, value, in_view=in_view) | {OUTSIDE}
        case cst.Assign(targets=targets, value=value):
            yield from (_stored(code, each.target, value, in_view) for each in targets)
        case cst.AnnAssign(target=target, value=value) | cst.AugAssign(target=target, value=value):
            if value is not None:
                yield _stored(code, target, value, in_view)
        case cst.Call() if _brings_together(code, node, in_view):
            yield _of_call(code, node, in_view)


def is_shared_by(code: Code, stretch: Iterable[cst.CSTNode], name: str) -> bool:
    """Whether code plainly lets another variable, list or object hold what a variable holds.

    A view of it counts, and so does handing it to the caller. Calls that are not known are
    believed to keep nothing, so a repair that rests on this is unsafe.
    """
    found = Groups()
    for node in (node for part in stretch for node in flow.walk_own(part)):
        if isinstance(node, cst.Yield) and name in flow.names(node):
            return True
        for binding, _ in bindings.of_node(node):
            found.unite(_named(code, binding, True) - {OUTSIDE})
        for united in _united_by(code, node, True):
            found.unite(united - {OUTSIDE})
    return bool(found.others(name))


def _kept_of(code: Code, binding: bindings.Binding, in_view: bool) -> Names:
    """Return the variables whose memory a variable may hold from one binding."""
    assert binding.value is not None
    sort = sorts.sort_of(code, binding.value)
    is_number = sort.element == lattice.PLAIN and sort.depth <= binding.taken
    if is_number and not binding.is_listed:
        return _NONE
    return shares(code, binding.value, in_view=in_view)


def _stored(code: Code, target: Expression, value: Expression, in_view: bool) -> Names:
    """Return the variables that hold an object, with those of what is put into it."""
    found = _NONE
    for part in nodes.unpacked(target):
        if isinstance(part, cst.Attribute) or (
            isinstance(part, cst.Subscript) and not sorts.is_array(code, part.value)
        ):
            found |= shares(code, part.value, in_view=in_view)
    return found | shares(code, value, in_view=in_view) if found else found


def _brings_together(code: Code, call: cst.Call, in_view: bool) -> bool:
    """Whether a call may let one of what it is given hold another: a list its new element."""
    function = call.func
    if not isinstance(function, cst.Attribute):
        return not in_view and not is_known(code, call)
    if in_view:
        return method(call) in libraries.MUTATORS
    return not is_known(code, call) or bool(sorts.sort_of(code, function.value).depth)
