"""Which variables hang on the graph of a training loop's loss, and where a loop keeps them.

Purely syntactic, over one loop that runs a backward pass: what `backward` is called on hangs on its
graph, and so does what that is arithmetic of. Values of which that is not plain are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.report.statement_order import (
    DEFINITIONS,
    names_in,
    own_children,
    targets_of,
    walk_own,
)
from asyncguard.lint.syntax.tree import children, dotted

LOOPS = frozenset({cst.For, cst.While})
IsBackward = Callable[[cst.Call], bool]
_EMPTYING = frozenset({"clear", "pop", "popleft"})


class Kept(NamedTuple):
    """A statement that keeps a graph beyond its step: `into` grows by `value`."""

    statement: cst.CSTNode
    into: str
    value: cst.BaseExpression
    tied: tuple[cst.Name, ...]  # the names in `value` that hang on the graph


Sources = Mapping[str, Sequence[cst.BaseExpression]]  # what is assigned to names


class GraphFunction:
    """What all loops of one function share."""

    def __init__(self, node: cst.CSTNode, is_backward: IsBackward) -> None:
        sources = _sources(_assignments(node))
        starts = set[str]().union(*map(names_in, _calls(node, is_backward)))
        # What a backward pass of the function may start from or go through.
        self.needed = _reached(starts, sources, names_in)
        self.called = {  # what is made by a call somewhere
            name for name, values in sources.items() if any(type(v) is cst.Call for v in values)
        }


class GraphLoop:
    """One loop with a backward pass directly in it, within its function.

    `renewed` is what a step makes anew around this loop, which runs a part of it.
    """

    def __init__(
        self,
        loop: cst.CSTNode,
        function: GraphFunction,
        is_backward: IsBackward,
        keeps: set[str],
        renewed: set[str],
    ) -> None:
        self.loop = loop
        self.function = function
        self.is_backward = is_backward
        self.keeps = keeps
        self.renewed = renewed
        self.sources = _sources(_assignments(loop))
        self.tied = self._tied()
        self.assigning: dict[str, set[int]] = {}  # statements, by what they assign
        self.called: set[str] = set()
        for node in walk_own(loop):
            for target in targets_of(node):
                self.assigning.setdefault(dotted(target), set()).add(id(node))
            if type(node) is cst.Call:
                self.called.add(dotted(node.func))

    def kept(self) -> Iterator[Kept]:
        """Yield what the loop keeps, that no statement of it lets go again."""
        for statement in _outside_plain_contexts(self.loop, self.is_backward):
            found = _growth(statement)
            if found is None:
                continue
            into, value = found
            tied = tuple(self._tied_names(value))
            if tied and into not in self.function.needed and not self._renewed(into, statement):
                yield Kept(statement, into, value, tied)

    def _tied(self) -> set[str]:
        """Return the names that hang on the graph when the step ends."""
        starts = set[str]().union(*map(_subjects, _calls(self.loop, self.is_backward)))
        made = (_made(self.loop) | starts) - self._counts()
        tied = _reached(starts, self.sources, _operands)
        return {name for name in tied & made if not self._released(name)}

    def _counts(self) -> set[str]:
        """Return the names that the loop gives nothing but lengths, sizes and other numbers."""
        return {name for name, values in self.sources.items() if all(map(_is_number, values))}

    def _released(self, name: str) -> bool:
        """Whether the loop makes something else of the name by a call: `loss = loss.item()`."""
        values = self.sources.get(name, ())
        return any(name in names_in(value) and not _operands(value) for value in values)

    def _tied_names(self, node: cst.BaseExpression) -> Iterator[cst.Name]:
        """Yield the tied names that a value hangs on by arithmetic and the like."""
        if type(node) is cst.Name and node.value in self.tied:
            yield node
        elif type(node) is cst.BinaryOperation and isinstance(node.operator, _ARITHMETIC):
            yield from self._tied_names(node.left)
            yield from self._tied_names(node.right)
        elif type(node) is cst.UnaryOperation and type(node.operator) is cst.Minus:
            yield from self._tied_names(node.expression)
        elif type(node) is cst.Call and (owner := _owner(node, self.keeps)) is not None:
            yield from self._tied_names(owner)

    def _renewed(self, path: str, but: cst.CSTNode) -> bool:
        """Whether the loop assigns or empties the variable, or it was made to forget."""
        if self.assigning.get(path, set()) - {id(but)}:
            return True
        if any(f"{path}.{method}" in self.called for method in _EMPTYING):
            return True
        return path in self.renewed or path in self.function.called


def _sources(assignments: Iterable[tuple[str, cst.BaseExpression]]) -> Sources:
    """Arrange assignments by the name that they assign to."""
    found: dict[str, list[cst.BaseExpression]] = {}
    for target, value in assignments:
        found.setdefault(target, []).append(value)
    return found


def _reached(
    starts: Iterable[str], sources: Sources, parts: Callable[[cst.BaseExpression], set[str]]
) -> set[str]:
    """Return some names, and those that their values are made of."""
    found = set(starts)
    pending = list(found)
    while pending:
        for value in sources.get(pending.pop(), ()):
            new = parts(value) - found
            found |= new
            pending += new
    return found


def _updates(call: cst.Call) -> bool:
    """Whether a call makes a loop one over optimizer steps: `optimizer.zero_grad()`."""
    return dotted(call.func).rpartition(".")[2] == "zero_grad"


def _owner(call: cst.Call, methods: set[str]) -> cst.BaseExpression | None:
    """Return what one of these methods is called on, if the call is of one."""
    func = call.func
    return func.value if type(func) is cst.Attribute and func.attr.value in methods else None


_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)


def graph_loops(
    function: cst.CSTNode, is_backward: IsBackward, keeps: set[str]
) -> Iterator[GraphLoop]:
    """Yield the loops of a function that have a backward pass directly in them."""
    shared: GraphFunction | None = None
    stack: list[tuple[cst.CSTNode, set[str]]] = [(function, set())]
    while stack:
        node, renewed = stack.pop()
        below = renewed
        if type(node) in LOOPS:
            if next(_calls(node, is_backward, direct=True), None):
                shared = shared or GraphFunction(function, is_backward)
                yield GraphLoop(node, shared, is_backward, keeps, renewed)
            if next(_calls(node, _updates, direct=True), None):
                below = renewed | {target for target, _ in _assignments(node)}
        stack.extend((child, below) for child in reversed(own_children(node)))


def _calls(node: cst.CSTNode, wanted: IsBackward, *, direct: bool = False) -> Iterator[cst.Call]:
    """Yield the wanted calls below a node; `direct`: in no loop further in."""
    stack = list(children(node))
    while stack:
        current = stack.pop()
        if type(current) is cst.Call and wanted(current):
            yield current
        if type(current) in DEFINITIONS:
            continue
        if not (direct and type(current) in LOOPS):
            stack.extend(children(current))


def _subjects(call: cst.Call) -> set[str]:
    """Return what `loss.backward()` or `scaler.backward(loss)` starts from."""
    owner = call.func.value if type(call.func) is cst.Attribute else call.func
    if type(owner) is cst.Call:  # scaler.scale(loss).backward()
        return set[str]().union(*(_operands(argument.value) for argument in owner.args))
    if call.args and type(owner) is not cst.BinaryOperation:
        first = call.args[0]
        return _operands(first.value) if first.keyword is None else _operands(owner)
    return _operands(owner)


def _operands(node: cst.BaseExpression) -> set[str]:
    """Return the names that an expression is arithmetic of; none of anything else."""
    if type(node) is cst.Name:
        return {node.value}
    if type(node) is cst.BinaryOperation and isinstance(node.operator, _ARITHMETIC):
        divisor = type(node.operator) is cst.Divide  # mostly a count
        return _operands(node.left) | (set() if divisor else _operands(node.right))
    return set()


def _is_number(node: cst.BaseExpression) -> bool:
    """Whether an expression is a number of Python's: a constant, a length, a size."""
    if isinstance(node, (cst.Integer, cst.Float)):
        return True
    if type(node) is cst.BinaryOperation:
        return _is_number(node.left) and _is_number(node.right)
    if type(node) is cst.Subscript:
        return _is_number(node.value)
    if type(node) is cst.Call:
        return dotted(node.func).rpartition(".")[2] in _NUMBERS
    return type(node) is cst.Attribute and node.attr.value == "shape"


_NUMBERS = frozenset({"len", "int", "float", "item", "size", "numel"})


def _made(loop: cst.CSTNode) -> set[str]:
    """Return the names that the statements of a loop assign; not what loops within it go over."""
    names: set[str] = set()
    for node in walk_own(loop):
        if type(node) is cst.AugAssign:
            names |= names_in(node.target)
        elif type(node) not in LOOPS:
            names.update(*map(names_in, targets_of(node)))
    return names


def _assignments(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Yield the assignments of one name below a node; `a += b` as `a = a + b`."""
    for part in walk_own(node):
        if type(part) is cst.Assign:
            for target in part.targets:
                yield dotted(target.target), part.value
        elif type(part) is cst.AugAssign:
            divides = type(part.operator) is cst.DivideAssign
            operator = cst.Divide() if divides else cst.Add()
            yield dotted(part.target), cst.BinaryOperation(part.target, operator, part.value)


def _growth(node: cst.CSTNode) -> tuple[str, cst.BaseExpression] | None:
    """Return what a statement adds to, and what: `a += b`, `a = a + b`, `a.append(b)`."""
    if type(node) is cst.AugAssign and type(node.operator) is cst.AddAssign:
        return dotted(node.target), node.value
    if type(node) is cst.Assign and type(node.value) is cst.BinaryOperation:
        value, into = node.value, dotted(node.targets[0].target)
        if into and type(value.operator) is cst.Add and dotted(value.left) == into:
            return into, value.right
    if type(node) is cst.Expr and type(node.value) is cst.Call:
        func, arguments = node.value.func, node.value.args
        if type(func) is cst.Attribute and func.attr.value == "append" and len(arguments) == 1:
            path = dotted(func.value)
            return (path, arguments[0].value) if path else None
    return None


def _outside_plain_contexts(loop: cst.CSTNode, is_backward: IsBackward) -> Iterator[cst.CSTNode]:
    """Yield a loop's code but for `with` blocks without a backward pass: they may keep no graph."""
    stack = list(children(loop))
    while stack:
        current = stack.pop()
        if type(current) in DEFINITIONS:
            continue
        if type(current) is cst.With and next(_calls(current, is_backward), None) is None:
            continue
        yield current
        stack.extend(children(current))
