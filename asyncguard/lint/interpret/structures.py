"""Calls that go over or change containers: `map`, tree maps, methods of lists and dicts."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts import iteration
from asyncguard.lint.contexts.effects import note_escape
from asyncguard.lint.contexts.frame import Frame, call_value
from asyncguard.lint.contexts.iteration import element_of, first_device
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.loops import LoopRecord
from asyncguard.lint.domain.reasons import Doubt, Provenance, Reason
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    HOST_VALUE,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    device,
    doubted,
    part_of,
    with_role,
)
from asyncguard.lint.domain.work import LoopShape
from asyncguard.lint.interpret.binding import rebind


def compared_by_key(frame: Frame, node: cst.Call, arguments: Arguments) -> Arguments:
    """`max(xs, key=f)` compares what f gives for each element, and not the elements."""
    key = next((a for a in arguments if a.keyword == "key"), None)
    if key is None or key is arguments[0]:
        return arguments
    element = arguments[0]._replace(value=iteration.loop_element(frame, arguments[0].value))
    given = first_device(call_value(frame, node, key.value, [element]))
    compared = with_role(doubted(given, Doubt.INFERRED), Role.NONE)  # whatever a model returns
    return [element._replace(value=container(compared))]


def mapped(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`map(f, xs, ys)` calls f with an element of each."""
    given = [a for a in arguments[1:] if not a.keyword]
    elements = [a._replace(value=iteration.loop_element(frame, a.value)) for a in given]
    origin = iteration.source_of(given[0].value)
    shape = LoopShape(origin.confidence) if origin.kind == "loader" else LoopShape()
    frame.loops.append(LoopRecord(node, shape=shape, transparent=True, line=frame.line()))
    note_escape(frame, arguments[0].value)
    element = call_value(frame, node, arguments[0].value, elements)
    frame.loops.pop()
    return iteration.wrapping(given[0].value, element)


def mapped_structure(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`tree_map(f, xs)` calls f with each value that xs holds, and returns a structure like xs."""
    given = [a for a in arguments[1:] if not a.keyword]
    leaves = [a._replace(value=leaf(a.value)) for a in given]
    result = call_value(frame, node, arguments[0].value, leaves)
    tree = given[0].value if given else UNKNOWN_VALUE
    if result.kind == UNKNOWN or tree.kind != CONTAINER:
        return result
    if len(given) > 1 or not tree.fields:
        return container(result)
    function = arguments[0].value
    with frame.speculation():
        fields = tree.fields.mapped(
            lambda value: call_value(frame, node, function, [given[0]._replace(value=leaf(value))])
        )
    return container(result)._replace(role=tree.role, fields=fields)


def leaf(tree: Value) -> Value:
    """Return what a tree of values holds, no containers: device values, if any are known in it."""
    found = innermost_value(first_device(tree))
    if found.kind == CONTAINER:
        return Value(params=found.params)
    return found._replace(role=Role.MASK if found.role == Role.MASK else Role.NONE)


def innermost_value(value: Value) -> Value:
    """Return what containers of containers hold in the end, as far as it is known."""
    while value.kind == CONTAINER and value.element is not None:
        value = value.element
    return value


def passed_on(context: Value, given: Value) -> Value:
    """Return what a collective of a trainer's context makes of what it is given: as much, there."""
    if given.kind in (DEVICE, CONTAINER):
        return given
    why = Reason(Provenance.USAGE, "a collective returns it")
    return device(context.framework, why, given.params)


def keyed(owner: Value) -> Value:
    """Return what something taken for an array holds by a word: it is a structure of arrays then.

    Like what a model returns, of which a part may be one as well, or a number: `meta["sizes"]`.
    """
    awaited = owner.role is Role.SETTLED  # a batch, of which this is another part
    return with_role(part_of(owner), Role.SETTLED if awaited else Role.MODEL_OUTPUT)


OF_MAPPINGS = frozenset(
    {"items", "keys", "values", "get", "pop", "popitem", "update", "setdefault"}
)


def mapping_method(owner: Value, method: str) -> Value:
    """Call a dict's method on a model's output or an argument, which must then be a dict."""
    element = keyed(owner) if owner.kind == DEVICE else part_of(owner)
    if method in _WITH_KEYS:
        return _with_keys(element, method)
    return container(element) if method == "values" else element


_WITH_KEYS = frozenset({"items", "keys", "popitem"})


def _with_keys(element: Value, method: str) -> Value:
    """Return what these methods give of a dict that holds such values."""
    if method == "keys":
        return container(HOST_VALUE)
    item = container(None, (HOST_VALUE, element))
    return container(item) if method == "items" else item


def entry(owner: Value, key: object) -> Value | None:
    """Return what a container holds by a literal key; None if its keys are not known.

    What it holds by other keys says nothing of this one.
    """
    if not isinstance(key, str) or not owner.fields:
        return None
    found = owner.fields.get(key)
    return found if found is not None else UNKNOWN_VALUE


_GROWING = frozenset({"append", "add", "appendleft", "insert", "extend", "update", "setdefault"})


def container_method(
    frame: Frame, func: cst.Attribute, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a list, set or dict; adding to one changes what is known of it."""
    element = owner.element if owner.element is not None else UNKNOWN_VALUE
    added = added_by(frame, method, arguments)
    if added is not None:
        grow(frame, func.value, owner, added)
    if method in ("get", "pop", "popleft", "setdefault"):
        found = entry(owner, arguments[0].value.literal) if arguments else None
        return found if found is not None else element
    if method in _WITH_KEYS:
        return _with_keys(element, method)
    if method in ("values", "copy", "union"):
        return container(element)
    if method in ("index", "count", "keys"):
        return HOST_VALUE
    return UNKNOWN_VALUE


def added_by(frame: Frame, method: str, arguments: Arguments) -> Value | None:
    """Return what a method adds to a list, set or dict; None if that says nothing."""
    if not arguments or method not in _GROWING:
        return None
    added = arguments[-1].value
    if method in ("extend", "update"):
        if added.kind == DEVICE and method == "extend":
            added = element_of(frame, added)  # its rows, or numbers
        else:
            added = added.element if added.kind == CONTAINER and added.element else UNKNOWN_VALUE
        if added.kind == UNKNOWN and not added.params:
            return None
    return added


def grow(frame: Frame, target: cst.BaseExpression, owner: Value, added: Value) -> None:
    """Note that a list or set, a variable maybe, holds one more value."""
    if owner.kind == CONTAINER:
        element = added if owner.element is None else join(owner.element, added)
        rebind(frame, target, owner._replace(element=element, items=None))
