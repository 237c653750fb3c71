"""Branches that fill what is kept: a cache, a table, an attribute, what one step hands to the next.

They run once, or once for each size or key, whatever else their conditions say.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from asyncguard.lint.contexts.counters import MORE
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.definitions import ClassInfo
from asyncguard.lint.domain.loops import Guard, LoopRecord
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, walk

_STATE = family("state.training")


def fills_in(node: cst.If) -> bool:
    """Whether a branch makes what is kept for later: `if self.x is None: self.x = ...`.

    Or `if key not in cache: cache[key] = ...`, or an optimizer's state: `if len(state) == 0:`,
    `if not state: state["mean"] = ...`.
    Other questions about the same table, `or cache[key].size < n`, are asked to fill it as well.
    """
    parts = [*disjuncts(node.test)]
    filled = [_filled(part, node.body) for part in parts]
    kept = next(filter(None, filled), None)
    return kept is not None and all(
        known is not None or _mentions(part, kept)
        for part, known in zip(parts, filled, strict=True)
    )


def _mentions(test: cst.BaseExpression, kept: cst.BaseExpression) -> bool:
    return any(part.deep_equals(kept) for part in walk(test) if type(part) is type(kept))


def _filled(test: cst.BaseExpression, body: cst.BaseSuite) -> cst.BaseExpression | None:
    """Return what a branch fills, which a test has found to be missing."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        asked = _asked(test.expression)
        flag = dotted(asked).startswith("self.") and dotted(asked) in _set_in(body)
        return test.expression if flag or _stores_in(test.expression, body) else None
    if type(test) is not cst.Comparison:
        return None
    target = test.comparisons[0]
    operator, kept = type(target.operator), target.comparator
    if operator is cst.Equal:
        counted = counted_by_len(test.left)
        return counted if counted is not None and _STATE(dotted(counted)) else None
    if operator is cst.NotIn:
        kept = _without_keys(kept)
        return kept if _stores_in(kept, body) else None
    path = dotted(test.left) if operator is cst.Is else ""
    own = path.startswith("self.") and path in map(dotted, _targets(body))
    return test.left if own else None


def _stores_in(table: cst.BaseExpression, body: cst.BaseSuite) -> bool:
    """Whether a branch stores entries in a table: `state["mean"] = zeros_like(p)`."""
    stores = (t.value for t in _targets(body) if type(t) is cst.Subscript)
    return any(store.deep_equals(table) for store in stores)


def _without_keys(table: cst.BaseExpression) -> cst.BaseExpression:
    """Return `table` of `table.keys()`."""
    called = type(table) is cst.Call and type(table.func) is cst.Attribute
    keys = called and table.func.attr.value == "keys"  # type: ignore[attr-defined]
    return table.func.value if keys else table  # type: ignore[attr-defined]


def _targets(body: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Yield what is assigned in a branch, within blocks of it too."""
    return (n.target for n in walk(body) if type(n) is cst.AssignTarget)


def grows(frame: Frame, node: cst.If) -> bool:
    """Whether a branch makes a kept table that is too small larger: `if n > self.x.size(0): ...`.

    It assigns the table, or calls a method that does. Inputs grow seldom once the longest was seen.
    """
    return any(_enlarges(frame, test, node.body) for test in conjuncts(node.test))


def _enlarges(frame: Frame, test: cst.BaseExpression, body: cst.BaseSuite) -> bool:
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    sides = (test.left, test.comparisons[0].comparator)
    if type(test.comparisons[0].operator) in (cst.LessThan, cst.LessThanEqual):
        sides = sides[1], sides[0]
    elif type(test.comparisons[0].operator) not in MORE:
        return False
    kept = _sized(sides[1])
    if not kept.startswith("self.") or kept == _sized(sides[0]):
        return False
    cls = frame.function.cls
    return any(
        dotted(part.target) == kept
        if type(part) is cst.AssignTarget
        else cls is not None and type(part) is cst.Call and _sets(cls, part, kept)
        for part in walk(body)
    )


def _sets(cls: ClassInfo, call: cst.Call, kept: str) -> bool:
    """Whether a method of the object sets an attribute: `self.register_buffer("x", x)`, too."""
    called, attribute = dotted(call.func), kept.removeprefix("self.")
    if not called.startswith("self."):
        return False
    method = cls.lookup(called.removeprefix("self."))
    name = call.args[0].value if call.args else None
    named = type(name) is cst.SimpleString and name.raw_value == attribute
    return named or (method is not None and method.sets(attribute))


def _sized(node: cst.BaseExpression) -> str:
    """Return what this is a size of: `x.size(0)`, `x.shape[0]`, `len(x)`, or a kept number."""
    if type(node) is cst.Subscript:
        return dotted(node.value).removesuffix(".shape")
    if type(node) is not cst.Call:
        return dotted(node)
    counted = counted_by_len(node)
    return dotted(counted) if counted is not None else dotted(node.func).removesuffix(".size")


def recalls(node: cst.If) -> bool:
    """Whether a branch returns what was kept: `if key in cache: return cache[key]`."""
    test, last = node.test, last_statement(node.body)
    if type(test) is not cst.Comparison or type(last) is not cst.Return:
        return False
    target, value = test.comparisons[0], last.value
    kept = type(target.operator) is cst.In and type(value) is cst.Subscript
    return kept and value.value.deep_equals(target.comparator)  # type: ignore[union-attr]


def was_done(function: cst.CSTNode, node: cst.If) -> bool:
    """Whether a branch leaves a function that has done its work once: `if self.ready: return`.

    It sets the flag itself, which may be an array: `self.ready.fill_(1)`.
    """
    test = node.test
    path = dotted(_asked(test)) or (attribute_asked_for(test) if type(test) is cst.Call else "")
    leaves = type(last_statement(node.body)) is cst.Return and node.orelse is None
    return leaves and path.startswith("self.") and path in _set_in(function)


def _asked(test: cst.BaseExpression) -> cst.BaseExpression:
    """Return what is asked if it is there, or true: `x.item()`, `bool(x)`, `x is not None`."""
    match test:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="item" | "all" | "any"))):
            return owner
        case cst.Call(func=cst.Name(value="bool"), args=[given]):
            return _asked(given.value)
        case cst.Comparison(left=left, comparisons=[target]) if type(target.operator) is cst.IsNot:
            return left
    return test


def _set_in(node: cst.CSTNode) -> frozenset[str]:
    """Return the attributes that a function or a branch sets, as arrays too."""
    paths = {dotted(part) for target in _targets(node) for part in _unpacked(target)}
    calls = (n.func for n in walk(node) if type(n) is cst.Call and type(n.func) is cst.Attribute)
    filled = {dotted(func.value) for func in calls if func.attr.value in _FILLING}
    return frozenset(paths | {path.removesuffix(".data") for path in filled} - {""})


def _unpacked(target: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if type(target) is cst.Tuple:
        for element in target.elements:
            yield from _unpacked(element.value)
    else:
        yield target


_FILLING = frozenset({"fill_", "copy_"})


def is_large_enough(node: cst.If) -> bool:
    """Whether a branch returns a table that was handed in, if it is large enough already.

    `if table is not None: if table.size(0) >= n: return table`: what follows makes a larger one.
    """
    found = last_statement(node.body)
    test = node.test
    if type(test) is not cst.Comparison or type(found) is not cst.If:
        return False
    last, path = last_statement(found.body), dotted(test.left)
    if type(test.comparisons[0].operator) is not cst.IsNot or type(last) is not cst.Return:
        return False
    sizes = found.test
    if type(sizes) is not cst.Comparison or type(sizes.comparisons[0].operator) not in MORE:
        return False
    returned = dotted(last.value) if last.value is not None else ""
    return path != "" and path == returned == _sized(sizes.left)


def attribute_asked_for(test: cst.Call) -> str:
    """Return what is asked for: `hasattr(self, "x")`, `getattr(self, "x", None)`; "" if nothing."""
    asked = [argument.value for argument in test.args]
    function = dotted(test.func)
    missing = function == "getattr" and len(asked) == 3 and dotted(asked[2]) in ("None", "False")
    if not (missing or (function == "hasattr" and len(asked) == 2)):
        return ""
    name = asked[1].raw_value if type(asked[1]) is cst.SimpleString else ""
    return f"{dotted(asked[0])}.{name}" if name else ""


def fills_first(frame: Frame, node: cst.If) -> Guard | None:
    """Return the guard of `if kept is None: kept = ...`, which the first iteration runs.

    Of the outermost loop in which nothing makes it `None` again. Other conditions may stand beside
    it: `if rank == 0 and kept is None`.
    """
    found = (_filled_first(frame, part, node.body) for part in conjuncts(node.test))
    return next(filter(None, found), None) if frame.loops else None


def _filled_first(frame: Frame, test: cst.BaseExpression, body: cst.BaseSuite) -> Guard | None:
    if type(test) is not cst.Comparison:
        return None
    target = test.comparisons[0]
    path = dotted(test.left) if type(target.operator) is cst.Is else ""
    if not path or dotted(target.comparator) != "None":
        return None
    if path not in map(dotted, _targets(body)):
        return None
    first = len(frame.loops)
    while first and not _unsets(frame.loops[first - 1], path):
        first -= 1
    return Guard(len(frame.loops), False, first=first) if first < len(frame.loops) else None


def _unsets(loop: LoopRecord, path: str) -> bool:
    """Whether a loop's body makes a variable `None`, or binds it to what the loop goes over."""
    return path in loop.targets or any(
        type(n) is cst.Assign
        and dotted(n.value) == "None"
        and any(path == dotted(target.target) for target in n.targets)
        for n in walk(loop.node)
    )


def counted_by_len(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return what `len` is asked of; None if this is no such call."""
    if type(node) is cst.Call and dotted(node.func) == "len" and len(node.args) == 1:
        return node.args[0].value
    return None


def conjuncts(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield `a` and `b` of `a and b`."""
    return _operands(test, cst.And)


def disjuncts(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield `a` and `b` of `a or b`."""
    return _operands(test, cst.Or)


def _operands(
    test: cst.BaseExpression, operator: type[cst.BaseBooleanOp]
) -> Iterator[cst.BaseExpression]:
    stack = [test]
    while stack:
        part = stack.pop()
        if type(part) is cst.BooleanOperation and type(part.operator) is operator:
            stack += (part.right, part.left)
        else:
            yield part


def last_statement(body: cst.BaseSuite) -> cst.CSTNode | None:
    """Return the last small statement of a branch."""
    last = body.body[-1] if body.body else None
    if type(last) is cst.SimpleStatementLine:
        return last.body[-1] if last.body else None
    return last
