"""What annotations and class expressions say about their instances."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.frame import Frame, evaluate
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import ClassInfo, class_of
from asyncguard.lint.domain.entries import Entries
from asyncguard.lint.domain.reasons import Doubt
from asyncguard.lint.domain.values import (
    CLASS,
    DEVICE,
    HOST,
    HOST_VALUE,
    INSTANCE,
    NONE_VALUE,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    doubted,
    with_role,
    without_params,
)
from asyncguard.lint.syntax.tree import dotted, parse_type, text_of


def type_value(frame: Frame, node: cst.BaseExpression, depth: int = 0) -> Value:
    """Return what an annotation or class expression says about its instances."""
    match node:
        case cst.SimpleString() if depth < 3:
            inner = parse_type(text_of(node) or "")
            return type_value(frame, inner, depth + 1) if inner is not None else UNKNOWN_VALUE
        case cst.BinaryOperation(operator=cst.BitOr()):
            sides = (node.left, node.right)
            return _union([type_value(frame, side, depth + 1) for side in sides])
        case cst.Subscript() if depth < 6:
            return _generic(frame, node, depth)
        case cst.Name(value="None"):
            return NONE_VALUE
    known = frame.analysis.types if frame.parent is None else None
    path = dotted(node) if known is not None else ""
    if known is None or not path:
        return _type_of(frame, node)
    if path not in known:
        known[path] = _type_of(frame, node)
    return known[path]


def _type_of(frame: Frame, node: cst.BaseExpression) -> Value:
    """Return what an instance of the class is that an expression names."""
    value = evaluate(frame, node)
    if value.kind == CLASS:
        return _instance_kind(value)
    if value.kind == SYMBOL:
        return type_of_name(frame, value.name)
    return UNKNOWN_VALUE


HOST_TYPES = frozenset(
    {"int", "float", "bool", "str", "complex", "bytes", "dict", "object", "type", "slice", "range"}
)


def type_of_name(frame: Frame, name: str) -> Value:
    """Return what an instance of the imported or builtin class `name` is."""
    if name in HOST_TYPES:
        role = Role.SLICE if name == "slice" else Role.NONE
        unknown = name in ("dict", "object")
        return UNKNOWN_VALUE if unknown else Value(HOST, role=role, name=name)
    if name in ("list", "tuple", "set", "frozenset"):
        return _collection(name, [])
    if found := frame.analysis.knowledge.types.find(name):
        return Value(found[0], found[1])
    cls = frame.analysis.foreign_class(name)
    return _instance_kind(Value(CLASS, ref=cls)) if cls else UNKNOWN_VALUE


def _union(values: list[Value]) -> Value:
    known = [v for v in values if not v.is_none]
    if len(known) == 1:
        return known[0]
    kinds = {v.kind for v in known}
    if kinds == {DEVICE}:
        return known[0]
    if kinds <= {HOST}:
        return HOST_VALUE if known else NONE_VALUE
    if DEVICE in kinds:
        return doubted(next(v for v in known if v.kind == DEVICE), Doubt.MAY_HOLD)
    return UNKNOWN_VALUE


_DICTS = frozenset({"Dict", "dict", "Mapping", "MutableMapping", "OrderedDict", "DefaultDict"})
_SETS = frozenset({"Set", "set", "FrozenSet", "frozenset", "AbstractSet", "MutableSet"})
_LISTS = _SETS | frozenset({
    "List", "list", "Sequence", "Tuple", "tuple", "Iterable", "Iterator", "Generator",
    "Collection", "deque", "Deque",
})  # fmt: skip


def _collection(head: str, inner: list[Value]) -> Value:
    """Return a dict of values, or a list, set or tuple of elements."""
    if head in _DICTS:
        return container(inner[-1] if inner else None)._replace(role=Role.DICT)
    role = Role.SET if head in _SETS else Role.NONE
    return with_role(container(inner[0] if inner else None), role)


def _generic(frame: Frame, node: cst.Subscript, depth: int) -> Value:
    """`Optional[T]`, `list[T]`, `tuple[T, ...]`, `dict[K, V]`, and their like."""
    head = dotted(node.value).rpartition(".")[2]
    arguments = [e.slice.value for e in node.slice if type(e.slice) is cst.Index]
    inner = [type_value(frame, a, depth + 1) for a in arguments]
    if head in ("Optional", "Union"):
        return _union(inner)
    if head in ("Annotated", "Final", "ClassVar") and inner:
        return inner[0]
    if head in ("Tuple", "tuple") and inner and type(arguments[-1]) is not cst.Ellipsis:
        return container(None, tuple(inner))
    if arguments and dotted(arguments[-1]).rpartition(".")[2] == "Any":
        return UNKNOWN_VALUE  # what callers hand tells more
    if head in _DICTS or head in _LISTS:
        return _collection(head, inner)
    base = evaluate(frame, node.value)
    return type_of_name(frame, base.name) if base.kind == SYMBOL else UNKNOWN_VALUE


def _instance_kind(value: Value) -> Value:
    """Return the instance of a checked class: a model if it inherits from one."""
    cls = class_of(value)
    for base in cls.family():
        for parent in base.bases:
            if parent.kind not in (CLASS, UNKNOWN, SYMBOL):
                return Value(parent.kind, parent.framework, ref=cls)
    return Value(INSTANCE, ref=cls)


def instance_of(cls: ClassInfo) -> Value:
    """Return an instance of a checked class."""
    return _instance_kind(Value(CLASS, ref=cls))


NAMED_TUPLE = "typing.NamedTuple"


def made_of(cls: ClassInfo, arguments: Arguments) -> Value:
    """Return the instance that a call of a class makes: a named tuple holds these for good."""
    made = instance_of(cls)
    if not any(base.kind == SYMBOL and base.name == NAMED_TUPLE for base in cls.bases):
        return made
    names = tuple(cls.annotations)
    if any(a.stars for a in arguments) or len(arguments) > len(names):
        return made
    given = {a.keyword or names[i]: without_params(a.value) for i, a in enumerate(arguments)}
    items = tuple(given[name] for name in names) if given.keys() == cls.annotations.keys() else None
    return made._replace(fields=Entries(given.items()), items=items)
