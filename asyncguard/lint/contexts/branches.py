"""Branches that are rare by their shape.

A branch that fills a cache (see `caches`), starts a counter anew, records an improvement, or ends
the loop or the program does not run in every step, whatever its condition says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.contexts.caches import (
    attribute_asked_for,
    conjuncts,
    counted_by_len,
    grows,
    last_statement,
)
from asyncguard.lint.contexts.conditions import IDENTITY, warns
from asyncguard.lint.contexts.counters import MORE
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo
from asyncguard.lint.domain.work import Work
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, walk

_BEST = family("value.record")


def improves(node: cst.If) -> bool:
    """Whether a branch runs for a new record alone: `if loss < best: best = loss`."""
    assigned = (path for path, _ in _assignments(node.body))
    records = {path for path in assigned if _BEST(path.rpartition(".")[2])}
    tests = (test for test in walk(node.test) if type(test) is cst.Comparison) if records else ()
    return any(
        dotted(side) in records
        for test in tests
        if type(test.comparisons[0].operator) not in IDENTITY
        for side in (test.left, test.comparisons[0].comparator)
    )


def is_once(frame: Frame, node: cst.If) -> bool:
    """Whether a branch keeps itself from running again: `if not done: done = True`.

    Or calls a method that does: `if not self.ready: self.prepare()`.
    """
    tests = conjuncts(node.test)
    own = any(_answers(test, value) for test in tests for value in _assignments(node.body))
    return own or _is_answered_by_a_method(frame, node) or _stores_by_a_method(frame, node)


def _stores_by_a_method(frame: Frame, node: cst.If) -> bool:
    """Whether a method that the branch calls stores the key that its test misses.

    `if "ids" not in self.state: self.begin(prompt)`.
    """
    keys = set(filter(None, map(_missed_key, conjuncts(node.test))))
    cls = frame.function.cls if keys else None
    if cls is None:
        return False
    return any(not keys.isdisjoint(_stored(method)) for method in _called_methods(cls, node.body))


def _called_methods(cls: ClassInfo, body: cst.BaseSuite) -> Iterator[FunctionInfo]:
    """Yield the methods of its own class that a block calls."""
    called = (dotted(n.func) for n in walk(body) if type(n) is cst.Call)
    methods = (cls.lookup(path[5:]) for path in called if path.startswith("self."))
    return (method for method in methods if method is not None)


def _missed_key(test: cst.BaseExpression) -> str:
    """Return the word that a test misses in what the object keeps: `"x" not in self.state`."""
    if type(test) is not cst.Comparison or type(test.left) is not cst.SimpleString:
        return ""
    asked = test.comparisons[0]
    kept = type(asked.operator) is cst.NotIn and dotted(asked.comparator).startswith("self.")
    return test.left.raw_value if kept else ""


def _stored(method: FunctionInfo) -> Iterator[str]:
    """Yield the literal keys under which a method stores something."""
    method.module.materialise_body(method)
    for target in (n.target for n in walk(method.node) if type(n) is cst.AssignTarget):
        index = target.slice[0].slice if type(target) is cst.Subscript else None
        if type(index) is cst.Index and type(index.value) is cst.SimpleString:
            yield index.value.raw_value


def _is_answered_by_a_method(frame: Frame, node: cst.If) -> bool:
    """Whether a method that the branch calls assigns an attribute that its test reads.

    Not one that runs a step, which may find that it was the last.
    """
    asked = {path for test in conjuncts(node.test) for path in _asked_attributes(test)}
    cls = frame.function.cls
    if not asked or cls is None:
        return False
    methods = _called_methods(cls, node.body)
    setting = (m for m in methods if any(m.sets(p[5:]) for p in asked))
    return any(not frame.analysis.summary_for(m).work & _STEPS for m in setting)


_STEPS = Work.OF_CALLER | Work.STEPS_ENVIRONMENT | Work.CONTAINS_STEPS


def _asked_attributes(test: cst.BaseExpression) -> Iterator[str]:
    """Yield the attributes of which a test asks if they are not set yet: `not self.x`.

    Or if they differ from what they are to be: `self.x != self.training`.
    """
    sides: list[cst.BaseExpression] = []
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        sides = [test.expression]
    elif type(test) is cst.Comparison and len(test.comparisons) == 1:
        target = test.comparisons[0]
        if type(target.operator) in (cst.Equal, cst.NotEqual, cst.Is):
            sides = [test.left, target.comparator]
    yield from (path for side in sides if (path := dotted(side)).startswith("self."))


def _answers(test: cst.BaseExpression, assigned: tuple[str, cst.BaseExpression]) -> bool:
    """Whether an assignment makes a flag that a test asks for what the test does not want."""
    path, value = assigned
    denied = type(test) is cst.UnaryOperation and type(test.operator) is cst.Not
    asked = test.expression if denied else test  # type: ignore[attr-defined]
    if denied and type(asked) is cst.Call:
        return _is_missing(asked, path)
    return path == dotted(asked) != "" and dotted(value) == ("True" if denied else "False")


def _is_missing(test: cst.Call, path: str) -> bool:
    """Whether `not` of this asks for what is assigned: `exists(self.x)`, `hasattr(self, "x")`."""
    if path == attribute_asked_for(test) != "":
        return True
    exists = path.startswith("self.") and dotted(test.func).rpartition(".")[2] == "exists"
    return exists and len(test.args) == 1 and path == dotted(test.args[0].value)


def is_point(test: cst.BaseExpression) -> bool:
    """Whether a condition holds at one point of a training: `self.step == self.warmup`."""
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    sides = (test.left, test.comparisons[0].comparator)
    equal = type(test.comparisons[0].operator) is cst.Equal
    return equal and all(type(side) is cst.Attribute for side in sides)


def is_rare(frame: Frame, node: cst.If) -> bool:
    """Whether a branch runs now and then: once a period, for a new record, or for more room."""
    return grows(frame, node) or improves(node) or _starts_anew(node.test, node.body)


def _starts_anew(test: cst.BaseExpression, body: cst.BaseSuite) -> bool:
    """Whether a branch runs when a counter reaches a bound, and starts it anew.

    `if count >= n: count = 0`, or `count = count - n`, `if step - last >= n: last = step`,
    `if len(kept) >= n: kept = []`. Or sets the bound further: `if step > due: due += n`. It is
    enough that one part of the test says so: `if n is not None and step - last >= n`.
    """
    if type(test) is cst.BooleanOperation:
        return _starts_anew(test.left, body) or _starts_anew(test.right, body)
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    if type(test.comparisons[0].operator) not in (*MORE, cst.Equal):
        return False
    begins = _begins(test.left, test.comparisons[0].comparator)
    return any(begins(path, value) for path, value in _assignments(body) if path)


def _begins(reached: cst.BaseExpression, bound: cst.BaseExpression) -> Assigns:
    """Return which assignments begin a new period, where `reached` has come to `bound`."""
    if type(reached) is cst.BinaryOperation and type(reached.operator) is cst.Subtract:
        since, now = dotted(reached.right), reached.left  # `now - since`
        return lambda path, value: path == since and value.deep_equals(now)
    if type(reached) is cst.BinaryOperation and type(reached.operator) is cst.Multiply:
        factors = _begins(reached.left, bound), _begins(reached.right, bound)  # `count * n`
        return lambda path, value: any(begins(path, value) for begins in factors)
    held = counted_by_len(reached)
    counted, is_reset = (reached, _is_number) if held is None else (held, _is_empty)
    counter, limit = dotted(counted), dotted(bound)

    def begins(path: str, value: cst.BaseExpression) -> bool:
        if path == counter and (is_reset(value) or _is_less(value, counted, bound)):
            return True
        return path == limit and _is_further(value, path, counted)

    return begins


Assigns = Callable[[str, cst.BaseExpression], bool]


def _is_further(node: cst.BaseExpression, bound: str, counted: cst.BaseExpression) -> bool:
    """Whether this is the next bound: `due + n`, `step + n`, `next(dues)`."""
    if type(node) is cst.BinaryOperation and type(node.operator) is cst.Add:
        return dotted(node.left) in (bound, dotted(counted))
    return type(node) is cst.Call and dotted(node.func) == "next"


def _is_less(node: cst.BaseExpression, left: cst.BaseExpression, by: cst.BaseExpression) -> bool:
    """Whether this is `left - by`."""
    if type(node) is not cst.BinaryOperation or type(node.operator) is not cst.Subtract:
        return False
    return node.left.deep_equals(left) and node.right.deep_equals(by)


def _is_number(node: cst.BaseExpression) -> bool:
    return type(node) in (cst.Integer, cst.Float)


def _is_empty(node: cst.BaseExpression) -> bool:
    """Whether this makes an empty collection: `[]`, `deque()`."""
    if type(node) is cst.Call:
        return not node.args and type(node.func) is cst.Name
    return isinstance(node, (cst.List, cst.Dict)) and not node.elements


def _assignments(body: cst.BaseSuite) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Yield what a branch's own statements assign, by path."""
    for line in body.body:
        for small in line.body if type(line) is cst.SimpleStatementLine else ():
            if type(small) is cst.Assign:
                yield dotted(small.targets[0].target), small.value
            elif type(small) is cst.AugAssign and type(small.operator) is cst.AddAssign:
                added = cst.BinaryOperation(small.target, cst.Add(), small.value)
                yield dotted(small.target), added


def chooses(node: cst.If, last: cst.If) -> bool:
    """Whether the last two branches of a chain ask which word a variable holds: it is one of all.

    `if mode == "head": ... elif mode == "tail": ...`, without an `else`.
    """
    path = _asked_word(node.test)
    return bool(path) and last.orelse is None and path == _asked_word(last.test)


def _asked_word(test: cst.BaseExpression) -> str:
    """Return the variable that a test compares with a word, or looks for among words."""
    if type(test) is not cst.Comparison or len(test.comparisons) > 1:
        return ""
    target = test.comparisons[0]
    words: list[cst.BaseExpression] = [target.comparator]
    if type(target.operator) is cst.In and isinstance(target.comparator, (cst.List, cst.Tuple)):
        words = [element.value for element in target.comparator.elements]
    elif type(target.operator) is not cst.Equal:
        return ""
    return dotted(test.left) if all(type(word) is cst.SimpleString for word in words) else ""


def tells_kinds_apart(node: cst.Try | cst.TryStar, handler: cst.CSTNode) -> bool:
    """Whether a `try` asks how many parts something has: its handler is for the other kind.

    `try: x, y, z = batch`, `except ValueError: x, y = batch`, with nothing called meanwhile.
    """
    parts = _unpacked(node.body)
    calls = (n for line in node.body.body for n in walk(line) if type(n) is cst.Call)
    body = handler.body if isinstance(handler, cst.ExceptHandler) else None
    return parts != "" and not any(calls) and body is not None and _unpacked(body) == parts


def _unpacked(body: cst.BaseSuite) -> str:
    """Return what the first statement of a block unpacks."""
    first = body.body[0] if body.body else None
    small = first.body[0] if type(first) is cst.SimpleStatementLine else None
    several = type(small) is cst.Assign and type(small.targets[0].target) is cst.Tuple
    return dotted(small.value) if several else ""  # type: ignore[union-attr]


_LEAVING = frozenset({cst.Raise, cst.Break})


def leaves_loop(body: cst.BaseSuite) -> bool:
    """Whether a branch ends by raising or leaving the loop: it runs at most once."""
    return type(last_statement(body)) in _LEAVING


def exits(body: cst.BaseSuite) -> bool:
    """Whether a branch, or the last branch in it, ends the program."""
    line = body.body[-1] if body.body else None
    if type(line) is cst.If:
        return exits(line.body)
    last = last_statement(body)
    call = last.value if type(last) is cst.Expr else None
    return type(call) is cst.Call and dotted(call.func) in load().language.exits


def starts_with_a_warning(body: cst.BaseSuite) -> bool:
    """Whether a branch warns first of all, of what programs should not do, or seldom do."""
    first = body.body[0] if body.body else None
    small = first.body[0] if type(first) is cst.SimpleStatementLine else None
    return type(small) is cst.Expr and warns(small.value)


def returns(body: cst.BaseSuite) -> bool:
    """Whether a branch ends by returning: what follows it runs otherwise."""
    return type(last_statement(body)) is cst.Return


def raises(body: cst.BaseSuite) -> bool:
    """Whether a branch ends by raising: what follows it is the rule."""
    return type(last_statement(body)) is cst.Raise
