"""Boolean contexts: what a test reads, and what its outcome tells about variables."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from operator import or_

import libcst as cst

from asyncguard.lint.contexts.conditions import guards_of_parts, operands
from asyncguard.lint.contexts.frame import Frame, evaluate
from asyncguard.lint.contexts.options import asked_by
from asyncguard.lint.contexts.priors import prior_for
from asyncguard.lint.contexts.type_tests import ANY_ARRAY, TypeTest, type_test
from asyncguard.lint.contexts.variables import UNCHANGED
from asyncguard.lint.domain.definitions import ClassInfo
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence, Word, together
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.reasons import MEDIUM, Doubt, Provenance, Reason
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INSTANCE,
    NUMBERS,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    confirmed,
    container,
    device,
    doubted,
    from_params,
)
from asyncguard.lint.interpret.lookup import hinted_at
from asyncguard.lint.interpret.protocols import protocol_site
from asyncguard.lint.interpret.structures import keyed
from asyncguard.lint.interpret.types import type_value
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, word_of

_ANY_TENSOR = family("type.any_tensor")


def truth(frame: Frame, node: cst.BaseExpression) -> Value:
    """Evaluate an expression in boolean context."""
    if type(node) is cst.BooleanOperation:
        _truth_of_parts(frame, node)
        return HOST_VALUE
    if type(node) is cst.UnaryOperation and type(node.operator) is cst.Not:
        truth(frame, node.expression)
        return HOST_VALUE
    value = evaluate(frame, node)
    tested = node.value if type(node) is cst.NamedExpr else node
    if value.kind == DEVICE and frame.function.calls(dotted(tested)):
        return value  # it asks whether there is such a function
    named = value.why.kind is not Provenance.CATALOGUE and _is_only_named(frame, node)
    asks = named or _is_detail(frame, node) or _looks_up(node)
    if value.kind == DEVICE and asks:
        value = doubted(value, Doubt.MAY_HOLD)  # more likely asks whether there is any
    compared = value.kind == UNKNOWN and value.role == Role.MASK
    of_entry = compared and bool(value.name)  # of a container, what it holds
    protocol_site(frame, "__bool__", tested, value, whole=not of_entry)
    return value


def _truth_of_parts(frame: Frame, node: cst.BooleanOperation) -> None:
    """Evaluate the parts of a connective, each knowing how those before it came out."""
    holds = type(node.operator) is cst.And
    parts = operands(node)
    truth(frame, parts[0])
    decided = [*accumulate((guarded_by_truth(frame, part, holds) for part in parts[:-1]), or_)]
    options = [*accumulate((asked_by(part, holds) for part in parts[:-1]), or_)]
    guards = guards_of_parts(frame, node)
    with _supposing(frame):
        for known, part, asked, on in zip(parts, parts[1:], decided, options, strict=False):
            with frame.guarded(next(guards), asked, on):
                narrow(frame, known, holds)
                truth(frame, part)


def _is_only_named(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether nothing but a variable's name or usage says what it is."""
    path = dotted(node)
    if not path or prior_for(frame, path).kind != DEVICE:
        return False
    known = frame.lookup(path)
    return known is None or known.kind == UNKNOWN


def _is_detail(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether this is an attribute that arrays have not, of what is a batch of them then."""
    if type(node) is not cst.Attribute:
        return False
    with frame.speculation():
        owner = evaluate(frame, node.value)
    known = frame.analysis.knowledge.frameworks.get(owner.framework)
    if owner.kind != DEVICE or known is None or known.asynchronous_cpu:
        return False
    return node.attr.value not in known.array_attributes


def _looks_up(node: cst.BaseExpression) -> bool:
    """Whether this looks for a key, `entries.get("x")`: it may as well find nothing."""
    method = type(node) is cst.Call and bool(node.args) and type(node.func) is cst.Attribute
    return method and node.func.attr.value == "get"  # type: ignore[attr-defined]


@contextmanager
def _supposing(frame: Frame) -> Iterator[None]:
    """Learn from tests for a while; new variables stay, which may then be set or not."""
    with frame.env.fork() as fork:
        yield
        changes = fork.take()
        if any((changed is None) == (path in frame.env) for path, changed in changes.items()):
            fork.apply(fork.merged(UNCHANGED, changes))


def narrow(frame: Frame, test: cst.BaseExpression, holds: bool) -> None:
    """Learn from a test that came out `holds`: isinstance tells what a variable is."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        narrow(frame, test.expression, not holds)
    elif type(test) is cst.BooleanOperation:
        if (type(test.operator) is cst.And) == holds:
            narrow(frame, test.left, holds)
            narrow(frame, test.right, holds)
    elif (asked := frame.held.get(dotted(test))) is not None and (kept := type_test(asked)):
        if own_parameter(frame, kept.path) >= 0:
            _narrow_type(frame, kept, holds)
    elif type(test) is cst.Attribute and test.attr.value in ("is_cuda", "is_cpu"):
        path = dotted(test.value)
        known = frame.env.get(path, UNKNOWN_VALUE)
        if known.kind == DEVICE and holds == (test.attr.value == "is_cpu"):
            frame.note(path, known._replace(kind=HOST_ARRAY))
    elif (asks := type_test(test)) is not None and asks.path:
        _narrow_type(frame, asks, holds)


def asks_whether_on_device(test: cst.BaseExpression) -> bool:
    """Whether a test holds for what is not in host memory: `x.is_cuda`, `x.device != "cpu"`."""
    if type(test) is cst.Attribute:
        return test.attr.value == "is_cuda"
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    target = test.comparisons[0]
    wanted = {cst.NotEqual: "cpu", cst.Equal: "cuda"}.get(type(target.operator))
    told = target.comparator
    asked = dotted(test.left).removesuffix(".type").endswith(".device")
    return asked and type(told) is cst.SimpleString and told.value[1:-1] == wanted


def _narrow_type(frame: Frame, test: TypeTest, holds: bool) -> None:
    """Learn from a test of a type that came out `holds`."""
    path, nodes = test.path, test.types
    with frame.speculation():
        kinds = [_checked_type(frame, node) for node in nodes]
    current = frame.env.get(path, UNKNOWN_VALUE)
    if holds:
        _learn_type(frame, path, current, kinds)
    elif any(kind.kind == current.kind == DEVICE for kind in kinds):
        sure = current.confidence >= MEDIUM
        frame.note(path, HOST_VALUE if sure else Value(params=current.params))
    elif current.kind == UNKNOWN and current.params and any(map(_is_tensor, nodes)):
        frame.note(path, Value(role=Role.NO_ARRAY))


def _learn_type(frame: Frame, path: str, current: Value, kinds: list[Value]) -> None:
    """Learn from a test that found a variable to be of one of these types."""
    known = [kind for kind in kinds if kind.kind != UNKNOWN]
    if len(known) == len(kinds) == 1 and current.kind == known[0].kind == DEVICE:
        found = confirmed(current, _by_test(frame, path))
        own = known[0].ref  # of a class of checked code
        frame.note(path, found._replace(ref=own) if isinstance(own, ClassInfo) else found)
    elif current.kind == HOST_ARRAY and current.framework in {kind.framework for kind in known}:
        return  # a tensor in host memory is one as well
    elif current.kind == HOST and current.name in NUMBERS:
        return  # a number by its declaration, which is seldom an array
    elif known and len(known) == len(kinds) and current.kind != known[0].kind:
        frame.note(path, _of_types(current, known))
    elif not known and hinted_at(frame, path, current).kind == DEVICE:
        for same in (path, *_aliases(frame, path)):
            frame.note(same, Value(INSTANCE))  # of a class of its own, whatever usage suggests


def _of_types(current: Value, known: list[Value]) -> Value:
    """Return what a variable is that is of one of these types."""
    value = functools.reduce(join, known)
    if value.kind == CONTAINER and value.element is None and current.kind != CONTAINER:
        keys = value.role is Role.DICT and current.kind == DEVICE
        held = keyed(current) if keys else current
        listed = held.params | Dependence(unless_array=held.params.on)  # an array is no list
        value = container(from_params(held, listed))._replace(role=value.role)
    unsure = current.kind == UNKNOWN and value.kind not in (HOST, HOST_ARRAY)
    keep = current.params if unsure else INDEPENDENT
    role = Role.UNPLACED if value.kind == DEVICE else value.role
    return doubted(value, Doubt.INFERRED)._replace(params=keep, role=role)


def _by_test(frame: Frame, path: str) -> Reason:
    return frame.reason(Provenance.TYPE_TEST, f"the type of `{path}` was tested")


def _is_tensor(node: cst.BaseExpression) -> bool:
    """Whether a type is that of all tensors, and no kind of them."""
    return _ANY_TENSOR(dotted(node).rpartition(".")[2])


def _aliases(frame: Frame, path: str) -> list[str]:
    """Return the other names of a parameter that `path` holds: after `original = x`, `x`."""
    params = frame.env[path].params if path in frame.env else INDEPENDENT
    if params.only < 0:
        return []
    return [other for other, value in frame.env.items() if value.params == params]


_MAPPINGS = frozenset({"dict", "Mapping", "MutableMapping", "OrderedDict"})


def _checked_type(frame: Frame, node: cst.BaseExpression) -> Value:
    if node is ANY_ARRAY and frame.analysis.frameworks:
        return device(frame.analysis.frameworks[0])
    name = dotted(node).rpartition(".")[2]
    if name in _MAPPINGS:
        return container(None)._replace(role=Role.DICT)
    if name == "Sequence":
        return container(None)
    return type_value(frame, node)


def guarded_by_omission(
    frame: Frame, test: cst.BaseExpression, operator: type[cst.BaseCompOp]
) -> Dependence:
    """Return the parameter of which this asks if a call leaves it out: `p is None`."""
    if type(test) is not cst.Comparison or type(test.comparisons[0].operator) is not operator:
        return INDEPENDENT
    path = dotted(test.left)
    if dotted(test.comparisons[0].comparator) != "None":
        return INDEPENDENT
    index = own_parameter(frame, path)
    if index < 0 or not frame.function.parameters[index].may_be_none:
        return INDEPENDENT
    return Dependence(when_omitted=frozenset({index}))


def own_parameter(frame: Frame, path: str) -> int:
    """Return which parameter a path still holds as it was passed; -1 if none."""
    value = frame.env.get(path)
    index = value.params.only if value is not None else -1
    parameters = frame.function.parameters if frame.function is not None else ()
    known = 0 <= index < len(parameters) and parameters[index].name == path
    return index if known else -1


_SEQUENCES = frozenset({"list", "tuple"})
_PLAIN_TYPES = _SEQUENCES | {"dict", "set", "str", "int", "float", "bool"}


def guarded_by_test(frame: Frame, test: cst.BaseExpression, holds: bool) -> Dependence:
    """Return the parameters whose type or truth decides how a test comes out."""
    return guarded_by_type(frame, test, holds) | guarded_by_truth(frame, test, holds)


def guarded_by_type(frame: Frame, test: cst.BaseExpression, holds: bool) -> Dependence:
    """Return the parameter of which this asks if it is an array: `isinstance(p, Tensor)`.

    Or if it is one of Python's own types, which no array is: `isinstance(p, list)`; or none of
    those that hold arrays.
    """
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        return guarded_by_type(frame, test.expression, not holds)
    asked = type_test(frame.held.get(dotted(test), test))  # of a flag
    index = own_parameter(frame, asked.path) if asked is not None else -1
    if asked is None or index < 0:
        return INDEPENDENT
    asked_of = frozenset({index})
    types = {dotted(node) for node in asked.types}
    if holds and types <= _PLAIN_TYPES:
        return Dependence(unless_array=asked_of)
    if not holds and types <= _SEQUENCES:
        return Dependence(unless_entry=asked_of)
    if not (all if holds else any)(map(_is_tensor, asked.types)):
        return INDEPENDENT
    return Dependence(unless_plain=asked_of) if holds else Dependence(unless_array=asked_of)


def guarded_by_truth(frame: Frame, test: cst.BaseExpression, holds: bool) -> Dependence:
    """Return the parameters whose truth decides how a test comes out: `if p and not q: ...`."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        return guarded_by_truth(frame, test.expression, not holds)
    if frame.held and own_parameter(frame, dotted(test)) < 0:
        condition = frame.held.pop(path := dotted(test), None)  # it may name the variable itself
        if condition is not None:
            asked = guarded_by_truth(frame, condition, holds)
            frame.held[path] = condition
            return asked
    if type(test) is cst.BooleanOperation:
        if (type(test.operator) is cst.And) != holds:
            return INDEPENDENT
        parts = (guarded_by_truth(frame, part, holds) for part in (test.left, test.right))
        return together(parts)
    if type(test) is cst.Comparison:
        return _guarded_by_comparison(frame, test, holds)
    index = own_parameter(frame, dotted(test)) if type(test) is cst.Name else -1
    if index < 0:
        return INDEPENDENT
    own = frozenset({index})
    return Dependence(when_true=own) if holds else Dependence(when_false=own)


def _guarded_by_comparison(frame: Frame, test: cst.Comparison, holds: bool) -> Dependence:
    """Return the parameter that a test compares with `None`, or with words: `p == "sum"`."""
    index = own_parameter(frame, dotted(test.left)) if type(test.left) is cst.Name else -1
    if len(test.comparisons) != 1 or index < 0:
        return INDEPENDENT
    bound = test.comparisons[0]
    operator = type(bound.operator)
    if dotted(bound.comparator) == "None":
        given = operator is (cst.IsNot if holds else cst.Is)
        return Dependence(when_given=frozenset({index})) if given else INDEPENDENT
    words = _words_of(bound)
    if not words:
        return INDEPENDENT
    same = operator is cst.Equal or operator is cst.In
    return Dependence(when_word=frozenset({(index, words, holds == same)}))


def _words_of(bound: cst.ComparisonTarget) -> frozenset[Word]:
    """Return the constants that something is compared with; none if there is anything else."""
    if isinstance(bound.operator, (cst.In, cst.NotIn)):
        several = isinstance(bound.comparator, (cst.Tuple, cst.List, cst.Set))
        nodes = [each.value for each in bound.comparator.elements] if several else []  # type: ignore[attr-defined]
    else:
        nodes = [bound.comparator] if isinstance(bound.operator, (cst.Equal, cst.NotEqual)) else []
    words = [*map(word_of, nodes)]
    return frozenset(word for word in words if word is not None and None not in words)
