"""Merging two abstract values where control-flow paths meet: a semilattice.

`join` is commutative, associative and idempotent, so that neither the order of branches nor how
often they are visited changes what is found. It follows from how it is put together: kinds are
ordered by rank, and each field of values of one kind is joined by itself.

When paths disagree, the kind that costs most is kept: a variable that is a device value on one path
blocks on that path, whatever it is on the other. What the other path knew remains as a doubt.
"""

from __future__ import annotations

from asyncguard.lint.domain.copies import InFlight, Memory
from asyncguard.lint.domain.definitions import ClassInfo, classes_of, function_of
from asyncguard.lint.domain.dependence import INDEPENDENT
from asyncguard.lint.domain.reasons import HIGH, Doubt, weaker
from asyncguard.lint.domain.values import (
    CLASS,
    CLASSES,
    CONTAINER,
    DEVICE,
    EITHER,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    INSTANCE,
    INSTANCES,
    MODEL,
    START_VALUES,
    SUPER,
    SYMBOL,
    UNKNOWN,
    Role,
    Value,
    from_params,
)

# The kinds from unknown up, cheapest first: the latest one is kept. What a value of another kind is
# cannot be told once it meets something different.
_ORDER = (
    UNKNOWN, FUNCTION, HOST_ARRAY, "environment", "metric", "logger", INSTANCE, CONTAINER,
    "context", "writer", "scheduler", "scaler", "loader", "optimizer", "criterion", MODEL, DEVICE,
)  # fmt: skip
_RANKS = {kind: rank for rank, kind in enumerate(_ORDER, 1)}
_RANKS[INSTANCES], _RANKS[EITHER] = _RANKS[INSTANCE], _RANKS[FUNCTION]
_REFERENCES = frozenset({SYMBOL, CLASS, SUPER})  # useless unless the same
_HOLDING = frozenset({CONTAINER, FUNCTION})  # whose items are exact, or not known
_CALLED = frozenset({FUNCTION, EITHER})
_OF_CLASSES = frozenset({CLASS, CLASSES})
MAX_EITHER = 4
MAX_CLASSES = 12  # of which an instance may be, each of whose methods a call reaches


def join(left: Value, right: Value) -> Value:
    """Merge what two paths know about one variable."""
    if left is right or left == right:
        return left
    if is_start(left) != is_start(right):  # a start value casts no doubt on what comes of it
        return from_params(right if is_start(left) else left, left.params | right.params)
    rank, other = _RANKS.get(left.kind, 0), _RANKS.get(right.kind, 0)
    if rank != other:
        return _above(left, right) if rank > other else _above(right, left)
    if rank == 0:
        return _join_plain(left, right)
    if left.kind in _CALLED:
        return _one_of(left, right)
    if left.kind != right.kind or (left.kind == INSTANCE and left.ref is not right.ref):
        left, right = left._replace(kind=INSTANCES), right._replace(kind=INSTANCES)
    return _join_fields(left, right)


def is_start(value: Value) -> bool:
    """Whether this is a constant, which variables are set to before they get their value."""
    return value.kind == HOST and value.role in START_VALUES


def _above(kept: Value, lost: Value) -> Value:
    """Return the value of the higher rank, under the doubt that the other one casts."""
    if kept.kind == UNKNOWN:
        return _join_fields(kept, _lifted(lost)._replace(role=kept.role))
    lost = _without_place(lost)
    doubt = kept.doubt | Doubt.ANOTHER_PATH | (lost.doubt & Doubt.HOST_PATH)
    if _is_surely_plain(lost):
        doubt |= Doubt.HOST_PATH
    exact = kept.kind == CONTAINER or kept.kind in _CALLED
    items = kept.items if exact else _join_parts(kept.items, _parts(lost))
    of_memory = isinstance(kept.ref, Memory) and lost.kind == UNKNOWN  # that may be pinned
    ref = None if of_memory else kept.ref
    return kept._replace(doubt=doubt, params=kept.params | lost.params, items=items, ref=ref)


def _is_surely_plain(value: Value) -> bool:
    """Whether it is no array for sure; where a test of its type says so, it was passed as one."""
    return value.kind == HOST and value.confidence == HIGH


def _lifted(value: Value) -> Value:
    """Return what is left of a value once it cannot be told from something else."""
    doubt = Doubt.HOST_PATH if _is_surely_plain(value) else value.doubt & Doubt.HOST_PATH
    return Value(doubt=doubt, params=_without_place(value).params)


def _without_place(value: Value) -> Value:
    """Return a value; if it is the device of an argument, without the argument: it is not read."""
    return from_params(value, INDEPENDENT) if value.kind == HOST else value


def _join_plain(left: Value, right: Value) -> Value:
    """Join two values of the lowest rank: plain objects, names and classes."""
    if {left.kind, right.kind} <= _OF_CLASSES:
        return _one_class(left, right)
    if left.kind != right.kind:
        return _join_fields(_lifted(left), _lifted(right))
    if left.kind == SYMBOL and left.name != right.name and "numpy" in (left.name, right.name):
        chosen = right if left.name == "numpy" else left  # as in `if gpu: import cupy as np`
        return from_params(chosen, left.params | right.params)
    if left.kind == SYMBOL and _last_name(left) == _last_name(right):
        return _one_symbol(left, right)
    if left.kind in _REFERENCES and (left.ref is not right.ref or left.name != right.name):
        return _join_fields(_lifted(left), _lifted(right))
    if left.kind == HOST:
        return _join_hosts(left, right)
    return _join_fields(left, right)


def _one_class(left: Value, right: Value) -> Value:
    """Return a class that may be either; of many, none is known."""
    if left.ref == right.ref:
        return _join_fields(left, right)
    chosen = _join_fields(left._replace(kind=CLASSES), right._replace(kind=CLASSES))
    return chosen if chosen.ref is not None else _lifted(chosen)


def _last_name(symbol: Value) -> str:
    return symbol.name.rpartition(".")[2]


def _one_symbol(left: Value, right: Value) -> Value:
    """Return what may be one thing from several modules: `if fast: from a import f`, else of `b`.

    The first has the others beside it.
    """
    named: dict[str, Value] = {}
    for each in (*symbols(left), *symbols(right)):
        same = named.get(each.name)
        named[each.name] = each if same is None else _join_fields(same, each)
    first, *others = (named[name] for name in sorted(named))
    doubt, params = left.doubt | right.doubt, left.params | right.params
    return first._replace(items=tuple(others) or None, doubt=doubt, params=params)


def symbols(value: Value) -> tuple[Value, ...]:
    """Return the symbols that a symbol may be; what it may be beside is a doubt of the whole."""
    plain = value._replace(items=None, doubt=Doubt.NONE, params=INDEPENDENT)
    return plain, *(value.items or ())


def _join_hosts(left: Value, right: Value) -> Value:
    """Join two plain objects: as surely plain as the surer one is on its path."""
    if left.literal is None and left[:5] == right[:5] and left[6:] == right[6:]:
        return left  # they differ by the literal alone, which the one is not known to be
    surer = min(left, right, key=lambda value: (-value.confidence, value.why, value.doubt))
    joined = _join_fields(left, right)
    if left.role != right.role and is_start(left):
        joined = joined._replace(role=Role.LITERAL)
    if joined.why is surer.why and joined.doubt == surer.doubt:
        return joined
    return joined._replace(why=surer.why, doubt=surer.doubt)


def _one_of(left: Value, right: Value) -> Value:
    """Return one of a few functions; of many, none is known."""
    params, doubt = left.params | right.params, left.doubt | right.doubt
    known: dict[int, Value] = {}
    for function in (*_functions(left), *_functions(right)):
        same = known.get(id(function.ref))
        known[id(function.ref)] = function if same is None else _join_fields(same, function)
    if len(known) > MAX_EITHER or MANY in (left.items, right.items):
        return Value(EITHER, items=MANY, doubt=doubt, params=params)
    if len(known) == 1:
        return next(iter(known.values()))._replace(doubt=doubt, params=params)
    ordered = sorted(known.values(), key=_place)
    return Value(EITHER, items=tuple(ordered), doubt=doubt, params=params)


MANY: tuple[Value, ...] = ()  # the items of one of more functions than are followed


def _functions(value: Value) -> tuple[Value, ...]:
    """Return the functions that this may be; what it may be beside is a doubt of the whole."""
    return value.items or () if value.kind == EITHER else (value._replace(doubt=Doubt.NONE),)


def _place(function: Value) -> tuple[str, str, int]:
    """Return what orders functions, whichever path came first."""
    return function_of(function).place


def _join_fields(left: Value, right: Value) -> Value:
    """Join two values of one kind, field by field."""
    if left.items is right.items:
        items = left.items
    elif left.kind in _HOLDING:
        items = _join_items(left.items, right.items)
    else:
        items = _join_parts(left.items, right.items)
    element = left.element
    if element is not right.element:
        element = _join_elements(element, right.element)
    return Value(
        left.kind,
        _common_framework(left.framework, right.framework),
        weaker(left.why, right.why),
        left.role if left.role == right.role else _common_role(left.role, right.role),
        left.name if left.name == right.name else "",
        _common_literal(left, right),
        element,
        items,
        left.fields.merged(right.fields, join),
        left.ref if left.ref == right.ref else _common_ref(left, right),
        left.doubt | right.doubt,
        left.params | right.params,
    )


def _common_ref(left: Value, right: Value) -> object:
    """Return what two values of one kind refer to, as far as that is the same."""
    for joined in (Memory, InFlight):
        if isinstance(left.ref, joined) and isinstance(right.ref, joined):
            return left.ref.joined(right.ref)  # type: ignore[arg-type]
    return _common_classes(left, right)


def _common_classes(left: Value, right: Value) -> tuple[ClassInfo, ...] | None:
    """Return the classes that instances of the framework's kind may be of: all, or none is known.

    Of many classes, of two of one name, or of one that is out of sight, a call may reach any.
    """
    one, other = classes_of(left), classes_of(right)
    if not (one and other):
        return None
    every = {*one, *other}
    places = {cls.place: cls for cls in every}
    known = len(every) == len(places) <= MAX_CLASSES
    return tuple(places[place] for place in sorted(places)) if known else None


def _common_framework(left: str, right: str) -> str:
    return min(left, right) if left and right else left or right


_KEPT = (Role.MODEL_OUTPUT, Role.ACTION, Role.PLACED)


def _common_role(left: Role, right: Role) -> Role:
    """Return the role of both; what may be a structure on one path may be one after them."""
    if left == right:
        return left
    kept = (role for role in _KEPT if role in (left, right))
    return next(kept, Role.NONE)


def _common_literal(left: Value, right: Value) -> str | int | float | bool | None:
    same = left.literal == right.literal and type(left.literal) is type(right.literal)
    return left.literal if same else None


def _join_elements(left: Value | None, right: Value | None) -> Value | None:
    """Join what two containers hold; one that holds nothing yet adds nothing."""
    if left is None or right is None:
        return right if left is None else left
    return join(left, right)


def _join_items(
    left: tuple[Value, ...] | None, right: tuple[Value, ...] | None
) -> tuple[Value, ...] | None:
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(map(join, left, right))


def _parts(value: Value) -> tuple[Value, ...] | None:
    """Return what something else is unpacked into if it is this; () if that is not known."""
    if value.kind == CONTAINER:
        return value.items or ()
    return value.items if _RANKS.get(value.kind, 0) and value.kind not in _CALLED else None


def _join_parts(
    left: tuple[Value, ...] | None, right: tuple[Value, ...] | None
) -> tuple[Value, ...] | None:
    """Join what two values may be unpacked into: None where no path makes it a container."""
    if left is None or right is None:
        return right if left is None else left
    return _join_items(left, right) or ()
