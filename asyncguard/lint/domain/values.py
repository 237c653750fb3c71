"""The lattice of abstract values: what the analyzer knows about one Python object.

A `Value` says what kind of thing an expression yields (`catalogue.VALUE_KINDS` and a few of our
own), whose framework owns it, and how sure that is. `join` merges what two control-flow paths
know. Nothing here knows a framework or a tree; `expressions` and `calls` make values, the checks
never see them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from asyncguard.lint.domain.copies import Layout, Memory
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence
from asyncguard.lint.domain.entries import Entries
from asyncguard.lint.domain.reasons import CERTAIN, STRENGTH, Doubt, Reason, strength, weaker
from asyncguard.lint.names.words import MAX_NAMES

# Beside the catalogue's kinds:
UNKNOWN = "unknown"
HOST = "host"  # a Python object that is no array: reading it costs nothing
HOST_ARRAY = "host_array"  # a NumPy array or a tensor in host memory
DEVICE = "device"
MODEL = "model"
CONTAINER = "container"
SYMBOL = "symbol"  # something imported or builtin, known by its dotted name only
FUNCTION = "function"  # defined in the checked code; `ref` is its FunctionInfo, `items` and
# `fields` the arguments that `functools.partial` has bound
EITHER = "either"  # one of a few such functions, which are its `items`
CLASS = "class"  # likewise; `ref` is its ClassInfo
CLASSES = "classes"  # one of several such classes
INSTANCE = "instance"  # of such a class
INSTANCES = "instances"  # of one of several such classes, or of one and something unknown
ONE_OF = {INSTANCES: INSTANCE, CLASSES: CLASS}
SUPER = "super"  # `super()`; `ref` is the ClassInfo it starts from
ARRAYS = frozenset({DEVICE, HOST_ARRAY})
ONE_NUMBER = "number"  # the name of an array without dimensions: what reduces a whole array gives
MAY_BE_NUMBER = "number or array"  # of one in host memory: what it was made of does not say
MEMBER = "@"  # in the name of a part of an argument, before an attribute: ".losses.@total"
EACH = "*"  # there, for any of what it holds, or before the place of what is meant: ".*0"
NUMBERS = frozenset({"int", "float"})  # of a value on the host, by its declaration


@enum.unique
class Role(enum.IntEnum):
    """What a value is for, or what sets it apart; most have none."""

    NONE = 0
    LITERAL = 1  # a constant of the source
    ABSENT = 2  # `None`
    SLICE = 3
    MASK = 4  # an array of truth values, on the host or on the device
    INDICES = 5  # an array of indices
    BATCH = 6  # what a loader yields, which may as well hold arrays
    MODEL_OUTPUT = 7  # or a part of one, which may be a structure of arrays
    ACTION = 8  # what an unknown policy returned, for an environment of any kind
    DICT = 9  # a container that is known to be a dict
    TUPLE = 10  # one that is a tuple
    PAIRS = 11  # one of values, each with its name
    GRADIENT_FUNCTION = 12  # a function that returns another's gradient
    DEVICE_OF_ARGUMENT = 13  # the device that an argument is on
    PART_OF_ARGUMENT = 14  # an attribute or element of an argument of unknown kind
    OPAQUE_RESULT = 15  # what an unresolved call returned that was passed no device value
    IN_PROGRESS = 17  # an attribute while its value is being found out
    NAME_INFERRED = 18  # only a variable's name says that it is on the device
    UNPLACED = 19  # an array by its use or a test, which do not say where it is
    MOVED = 20  # an argument that was moved to the device, from wherever it was
    NO_ARRAY = 21  # a test found that it is none
    PLACED = 22  # a loader whose batches are on the device already
    GIVEN = 23  # an argument that is returned as it was handed: it is for what that is
    SET = 25  # a container that is known to be a set
    ENTRY = 24  # of a dict declared to hold arrays, which may hold a list of them as well
    SETTLED = 26  # a device value that was waited for: reading it does not wait


class Place(enum.IntEnum):
    """Where an array is."""

    NOWHERE = 0  # of what is no array
    DEVICE = 1
    HOST = 2
    EITHER = 3  # it is an array by its use, or by a test that does not say where


START_VALUES = frozenset({Role.LITERAL, Role.ABSENT})  # that variables are set to at first


class Value(NamedTuple):
    """What is known about one object.

    `params` are the enclosing function's parameters that the value's data comes from: reading such
    a value reads that argument, wherever the function is called.
    """

    kind: str = UNKNOWN
    framework: str = ""
    why: Reason = CERTAIN
    role: Role = Role.NONE
    name: str = ""  # of a symbol, dotted; of a plain object's type; of an option of an optimizer
    literal: str | int | float | bool | None = None
    element: Value | None = None  # what iterating a container yields
    items: tuple[Value, ...] | None = None  # a tuple's elements
    fields: Entries[Value] = Entries()  # a dict's values by literal key
    ref: object = None
    doubt: int = 0  # flags of `Doubt`
    params: Dependence = INDEPENDENT

    @property
    def confidence(self) -> int:
        """How sure the kind is: LOW, NAMED, MEDIUM or HIGH."""
        if not self.doubt:
            return STRENGTH[self.why.kind]
        return strength(self.why, self.doubt, on_device=self.kind == DEVICE)

    @property
    def place(self) -> Place:
        """Where it is, if it is an array."""
        if self.kind == DEVICE:
            return Place.EITHER if self.role is Role.UNPLACED else Place.DEVICE
        return Place.HOST if self.kind == HOST_ARRAY else Place.NOWHERE

    @property
    def was_read(self) -> bool:
        """Whether it is a plain object on one path, and unknown on another."""
        return self.kind == UNKNOWN and bool(self.doubt & Doubt.HOST_PATH)

    @property
    def is_none(self) -> bool:
        """Whether it is `None`."""
        return self.role is Role.ABSENT


UNKNOWN_VALUE = Value()
HOST_VALUE = Value(HOST)
NONE_VALUE = Value(HOST, role=Role.ABSENT)


def device(framework: str, why: Reason = CERTAIN, params: Dependence = INDEPENDENT) -> Value:
    """Return a device value of `framework`."""
    return Value(DEVICE, framework, why, params=params)


def unplaced(framework: str, why: Reason, params: Dependence = INDEPENDENT) -> Value:
    """Return an array of `framework` that may be in host memory still, if it is moved."""
    return Value(DEVICE, framework, why, Role.UNPLACED, params=params)


@lru_cache(MAX_NAMES)
def symbol(name: str) -> Value:
    """Return the value of an imported or builtin name."""
    return Value(SYMBOL, name=name)


@lru_cache(MAX_NAMES, typed=True)
def literal(value: str | int | float | bool) -> Value:
    """Return the value of a constant."""
    return Value(HOST, role=Role.LITERAL, literal=value)


def part_of(value: Value) -> Value:
    """Return a part of an array, or all of it in another shape: it is a mask where that is one."""
    role = value.role if value.role in _OF_PARTS else Role.NONE
    ref = value.ref
    if isinstance(ref, Memory):
        ref = ref._replace(layout=Layout.UNKNOWN, part=None)
    return value._replace(role=role, name="", literal=None, items=None, ref=ref)


_OF_PARTS = frozenset({Role.MASK, Role.INDICES, Role.UNPLACED, Role.NAME_INFERRED})


def container(element: Value | None, items: tuple[Value, ...] | None = None) -> Value:
    """Return a list, tuple, set or dict with such elements."""
    return Value(CONTAINER, element=element, items=items)


def doubted(value: Value, doubt: Doubt) -> Value:
    """Return `value` under one more doubt."""
    return value if value.doubt & doubt else value._replace(doubt=value.doubt | doubt)


def confirmed(value: Value, why: Reason) -> Value:
    """Return `value` known at least as well as this reason tells."""
    return value if value.confidence >= why.strength else value._replace(why=why, doubt=0)


def as_sure(value: Value, other: Value) -> Value:
    """Return `value`, believed for the reason of another one."""
    return value._replace(why=other.why, doubt=other.doubt)


def no_surer(value: Value, than: Value) -> Value:
    """Return `value` known no better than another one."""
    if value.why is than.why and value.doubt == than.doubt:
        return value
    return value._replace(why=weaker(value.why, than.why), doubt=value.doubt | than.doubt)


def derived(source: Value, kind: str, framework: str, role: Role = Role.NONE) -> Value:
    """Return something as sure as what it is inferred from, of none of its parameters."""
    return Value(kind, framework, source.why, role, doubt=source.doubt)


def settled(value: Value) -> Value:
    """Return a joined value as it is used: an instance of one of many classes is unknown."""
    unknown = value.kind == INSTANCES and value.ref is None
    return Value(params=value.params) if unknown else value


DEPTH = 4  # of containers within each other, of which the innermost is known


def widened(value: Value, depth: int = DEPTH) -> Value:
    """Return a value without what lies deeper in it than so many containers.

    What a function calls itself for may be nested deeper each time, and never settle otherwise.
    """
    if value.element is None and value.items is None and not value.fields:
        return value
    if not depth:
        return value._replace(element=None, items=None, fields=Entries())
    element, items = value.element, value.items
    return value._replace(
        element=widened(element, depth - 1) if element is not None else None,
        items=tuple(widened(item, depth - 1) for item in items) if items is not None else None,
        fields=value.fields.mapped(lambda field: widened(field, depth - 1)),
    )


def from_params(value: Value, params: Dependence) -> Value:
    """Return `value` as data of these parameters; `_replace` takes several times as long."""
    if params is value.params:
        return value
    return Value._make((*value[:-1], params))


def of_argument(value: Value, params: Dependence) -> Value:
    """Return an argument, with what it is declared to hold, as data of its parameter.

    But of a dict: its entries are of several kinds, and in several places.
    """
    if value.kind == CONTAINER and value.role is not Role.DICT:
        element = of_argument(value.element, params) if value.element is not None else None
        items = value.items and tuple(of_argument(item, params) for item in value.items)
        value = value._replace(element=element, items=items)
    return from_params(value, params)


def with_role(value: Value, role: Role) -> Value:
    """Return `value` in a role, likewise."""
    return value if value.role == role else Value._make((*value[:3], role, *value[4:]))


def without_params(value: Value) -> Value:
    """Return `value`, and what it holds, as other functions see it: from none of its arguments."""
    if value.kind != CONTAINER:
        return from_params(value, INDEPENDENT) if value.params else value
    return _holding_each(value, without_params)


def kept_by(value: Value, path: str, method: str) -> Value:
    """Return `value` as other methods see it where this one keeps it in an attribute.

    What is not known of it depends on what calls of this method hand.
    """
    if value.kind == UNKNOWN and (value.params.on or value.params.kept):
        return from_params(value, value.params.elsewhere(path, method))
    if value.kind != CONTAINER:
        return without_params(value)
    return _holding_each(value, lambda part: kept_by(part, path, method))


def unknown_of(value: Value) -> frozenset[int]:
    """Return the parameters that what is not known of a value comes from, or of what it holds."""
    if value.kind != CONTAINER:
        return value.params.on if value.kind == UNKNOWN else frozenset()
    held = [*(value.items or ()), *(part for _, part in value.fields)]
    held += [value.element] if value.element is not None else []
    return frozenset[int]().union(*map(unknown_of, held))


def _holding_each(value: Value, change: Callable[[Value], Value]) -> Value:
    """Return a container of none of the arguments, with what it holds changed."""
    element = change(value.element) if value.element is not None else None
    items = tuple(map(change, value.items)) if value.items is not None else None
    fields = value.fields.projected(change)
    return value._replace(params=INDEPENDENT, element=element, items=items, fields=fields)


CALLABLE = frozenset({MODEL, "criterion"})
