"""What the body of a function says by usage: of whose methods it calls, what these are."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.type_tests import type_test
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.hints import note_hint, tells_owner
from asyncguard.lint.domain.values import MODEL
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.syntax.tree import dotted, item_path


def scan(info: FunctionInfo, knowledge: Knowledge, frameworks: tuple[str, ...]) -> None:
    """Fill in what the function's own body says by usage; nested definitions keep theirs."""
    for node, inner in info.unit.uses(info.node) if info.unit is not None else ():
        if type(node) is cst.Call:
            _note_method(info, node, knowledge, frameworks, inner)
        elif info.outlined is None and not info.attributes_set:
            info.attributes_set = _is_self_attribute(node)


def _is_self_attribute(target: cst.CSTNode) -> bool:
    if type(target) is cst.Tuple:
        return any(_is_self_attribute(element.value) for element in target.elements)
    return type(target) is cst.Attribute and dotted(target).startswith("self.")


def _passes(call: cst.Call, knowledge: Knowledge, frameworks: tuple[str, ...]) -> bool:
    """Whether a call gives back its one argument, as far as the method's name says."""
    if type(call.func) is not cst.Attribute or len(call.args) != 1:
        return False
    return any(call.func.attr.value in knowledge.passes[framework] for framework in frameworks)


def _told_of(
    call: cst.Call, func: cst.Attribute, knowledge: Knowledge, frameworks: tuple[str, ...]
) -> cst.BaseExpression:
    """Return the value that a method call tells something of: its owner mostly."""
    given = next((argument.value for argument in call.args if not argument.keyword), None)
    if given is not None and not tells_owner(func.attr.value, True):
        return given  # `engine.backward(loss)`
    owner = func.value
    if type(owner) is cst.Call and _passes(owner, knowledge, frameworks):
        return owner.args[0].value  # `scaler.scale(loss).backward()`
    while type(owner) is cst.Call and type(owner.func) is cst.Attribute:
        if not _moves(owner.func.attr.value, knowledge, frameworks):
            break
        owner = owner.func.value  # `net.cuda().eval()`
    return owner


def _moves(method: str, knowledge: Knowledge, frameworks: tuple[str, ...]) -> bool:
    """Whether a method of models gives back its owner, moved or converted."""
    tables = (knowledge.model_methods.get(framework, {}) for framework in frameworks)
    return any(table.get(method) == MODEL for table in tables)


def _note_method(
    info: FunctionInfo,
    call: cst.Call,
    knowledge: Knowledge,
    frameworks: tuple[str, ...],
    inner: frozenset[str],
) -> None:
    func = call.func
    if type(func) is not cst.Attribute:
        return
    method = func.attr.value
    if method in knowledge.step_methods and knowledge.step_methods[method] & set(frameworks):
        info.marks_step = True
    found = told_by_call(call, method, knowledge, frameworks)
    if not found:
        return
    owner = _told_of(call, func, knowledge, frameworks)
    path = dotted(owner) or item_path(owner)
    first = path.partition(".")[0]
    if path in ("", "self") or first in inner or knowledge.framework_of(first):
        return
    note_hint(info.hints, path, found)
    if info.cls is not None and path.startswith("self.") and not _is_tested(info, path):
        note_hint(info.cls.hints, path, found)


def told_by_call(
    call: cst.Call, method: str, knowledge: Knowledge, frameworks: tuple[str, ...]
) -> tuple[str, str] | None:
    """Return (kind, framework) of what a method is called on, if the method or an axis tells."""
    if found := knowledge.by_usage(method, frameworks):
        return found
    for axis in (a.keyword.value for a in call.args if a.keyword and _is_axis(a.value)):
        if found := knowledge.by_axis(method, axis, frameworks):
            return found
    return None


def _is_axis(node: cst.BaseExpression) -> bool:
    """Whether this is an axis by its number; elsewhere an axis has a name: `dim="time"`."""
    return type(node) is cst.Integer or type(node) is cst.UnaryOperation


def _is_tested(info: FunctionInfo, path: str) -> bool:
    """Whether a function asks of which type a path is: it is of several, so of others elsewhere."""
    uses = info.unit.uses(info.node) if info.unit is not None else ()
    tests = filter(None, (type_test(node) for node, _ in uses))
    return any(test.path == path for test in tests)
