"""The lattice of abstract values: what the analyzer knows about one Python object.

A `Value` says what kind of thing an expression yields (`catalogue.VALUE_KINDS` and a few of our
own), whose framework owns it, and how sure that is. `join` merges what two control-flow paths
know. Nothing here knows a framework or a tree; `expressions` and `calls` make values, the checks
never see them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from asyncguard.lint.names.words import MAX_NAMES

LOW, NAMED, MEDIUM, HIGH = range(4)  # NAMED: by its name alone, which is MEDIUM where it is hot

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
INSTANCE = "instance"  # of such a class
SUPER = "super"  # `super()`; `ref` is the ClassInfo it starts from
ARRAYS = frozenset({DEVICE, HOST_ARRAY})
NO_PARAMS: frozenset[int] = frozenset()


class Value(NamedTuple):
    """What is known about one object.

    `params` are the positions of the enclosing function's parameters that the value's data comes
    from: reading such a value reads that argument, wherever the function is called.
    """

    kind: str = UNKNOWN
    framework: str = ""
    confidence: int = HIGH
    name: str = ""  # dotted name of a symbol; MASK of a host or device mask; a type's name
    literal: str | int | float | bool | None = None
    element: Value | None = None  # what iterating a container yields
    items: tuple[Value, ...] | None = None  # a tuple's elements
    fields: tuple[tuple[str, Value], ...] = ()  # a dict's values by literal key
    ref: Any = None
    params: frozenset[int] = NO_PARAMS

    @property
    def is_device(self) -> bool:
        """Whether reading this value waits for the device."""
        return self.kind == DEVICE


UNKNOWN_VALUE = Value()
HOST_VALUE = Value(HOST)
NONE_VALUE = Value(HOST, name="None")


def device(framework: str, confidence: int = HIGH, params: frozenset[int] = NO_PARAMS) -> Value:
    """Return a device value of `framework`."""
    return Value(DEVICE, framework, confidence, params=params)


def somewhere(framework: str, confidence: int, params: frozenset[int] = NO_PARAMS) -> Value:
    """Return an array of `framework` that may be in host memory still, if it is moved."""
    return device(framework, confidence, params)._replace(name=WHEREVER)


@lru_cache(MAX_NAMES)
def symbol(name: str) -> Value:
    """Return the value of an imported or builtin name."""
    return Value(SYMBOL, name=name)


@lru_cache(MAX_NAMES, typed=True)
def literal(value: str | int | float | bool) -> Value:
    """Return the value of a constant."""
    return Value(HOST, literal=value, name="literal")


MASK = "bool"  # the name of an array of truth values, on the host or on the device
INDICES = "indices"  # and of one of indices
DICT = "dict"  # the name of a container that is known to be a dict
TUPLE = "tuple"  # of one that is a tuple
BATCH = "batch"  # the name of what a loader gives, which may as well hold arrays
PAIRS = "pairs"  # and of one of values, each with its name
STRUCTURE = "structure"  # the name of a model's output, or of a part of one
HINTED = "hinted"  # the name of what only a variable's name says to be on the device
ANSWER = "answer"  # the name of what an unknown call gave that was handed no device value
ACTION = "action"  # the name of what an unknown policy gave, for an environment of any kind
WHEREVER = "wherever"  # the name of an array that only its use or a test tells, not where it is
MOVED = "moved"  # the name of an argument that was moved to the device, from wherever it was
PART = "part"  # the name of an attribute or an element of an argument of unknown kind
READ = "read"  # the name of what is a plain object on one path, and unknown on another
GRADIENT = "gradient"  # the name of a function that gives another's gradient
PLACE = "place"  # the name of the device that an argument is on
ITSELF = "itself"  # the name of an attribute where it is found out what it is: what else it is of


def part_of(value: Value) -> Value:
    """Return a part of an array, or all of it in another shape: it is a mask where that is one."""
    name = value.name if value.name in (MASK, INDICES, WHEREVER, HINTED) else ""
    return value._replace(name=name, literal=None, items=None)


def container(element: Value | None, items: tuple[Value, ...] | None = None) -> Value:
    """Return a list, tuple, set or dict with such elements."""
    return Value(CONTAINER, element=element, items=items)


def weaken(value: Value, confidence: int) -> Value:
    """Return `value` known no better than `confidence`."""
    return value if value.confidence <= confidence else value._replace(confidence=confidence)


def from_params(value: Value, params: frozenset[int]) -> Value:
    """Return `value` as data of these parameters; `_replace` takes several times as long."""
    return Value._make((*value[:-1], params))


def named(value: Value, name: str) -> Value:
    """Return `value` under a name, likewise."""
    return value if value.name == name else Value._make((*value[:3], name, *value[4:]))


def without_params(value: Value) -> Value:
    """Return `value`, and what it holds, as other functions see it: from none of its arguments."""
    if value.kind != CONTAINER:
        return from_params(value, NO_PARAMS) if value.params else value
    element = without_params(value.element) if value.element is not None else None
    items = tuple(map(without_params, value.items)) if value.items is not None else None
    fields = tuple((key, without_params(inner)) for key, inner in value.fields)
    return value._replace(params=NO_PARAMS, element=element, items=items, fields=fields)


CALLABLE = frozenset({MODEL, "criterion"})
