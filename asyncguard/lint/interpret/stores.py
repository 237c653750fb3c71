"""Assignments; writing into a device value may itself block."""

from __future__ import annotations

from typing import Any

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.contexts import conditions, trainings
from asyncguard.lint.contexts.frame import Frame, Statements, evaluate
from asyncguard.lint.contexts.iteration import unpacked
from asyncguard.lint.contexts.passing import keeps
from asyncguard.lint.domain.definitions import ClassInfo
from asyncguard.lint.domain.entries import Entries
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.reasons import Doubt
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    UNKNOWN,
    Role,
    Value,
    container,
    derived,
    doubted,
    from_params,
    no_surer,
    part_of,
    with_role,
)
from asyncguard.lint.interpret import copies
from asyncguard.lint.interpret.binding import SEQUENCES, bind_target, holding, rebind
from asyncguard.lint.interpret.growth import note_added
from asyncguard.lint.interpret.indexing import (
    DEVICE_INDEX,
    FREE_INDEX,
    MASK_INDEX,
    UPLOADED_INDEX,
    index_cost,
    index_value,
)
from asyncguard.lint.interpret.memory import taken
from asyncguard.lint.interpret.moves import note_moved_attribute, note_moved_entries
from asyncguard.lint.interpret.operators import combine
from asyncguard.lint.interpret.protocols import operator_site, protocol_site
from asyncguard.lint.interpret.types import type_value
from asyncguard.lint.syntax.tree import dotted


def assign(frame: Frame, node: cst.Assign) -> bool:
    """`a = b = value`."""
    value = evaluate(frame, node.value)
    if type(node.value) is cst.Call:
        value = trainings.note_update(frame, node, node.value, value)
        value = trainings.note_acting(frame, node.targets[0].target, node.value, value)
    conditions.remember(frame, node.targets[0].target, node.value)
    for target in node.targets:
        if type(target.target) is cst.Subscript and _is_of(node.value, target.target):
            path = dotted(target.target.value)
            owner = frame.lookup(path) if path else None
            if owner is not None and owner.kind == HOST_ARRAY:
                frame.bind(path, container(part_of(owner)))  # whose parts are moved one by one
        store(frame, target.target, value)
    return True


def _is_of(node: cst.BaseExpression, owner: cst.Subscript) -> bool:
    """Whether this moves such an element, which has a number: `images[0].cuda()`."""
    index = owner.slice[0].slice
    if type(index) is not cst.Index or type(index.value) is not cst.Integer:
        return False
    called = type(node) is cst.Call and type(node.func) is cst.Attribute
    moves = called and node.func.attr.value in load().moves  # type: ignore[attr-defined]
    return bool(moves) and node.func.value.deep_equals(owner)  # type: ignore[attr-defined]


def annotated(frame: Frame, node: cst.AnnAssign) -> bool:
    """`a: T = value`: what the value says, else what the annotation says.

    A class of the project is said to be what would be taken for a plain array.
    """
    if node.value is None:
        return True
    value = evaluate(frame, node.value)
    if value.kind in (UNKNOWN, DEVICE) and value.ref is None:
        declared = type_value(frame, node.annotation.annotation)
        if isinstance(declared.ref, ClassInfo) or value.kind == UNKNOWN != declared.kind:
            value = declared._replace(params=value.params)
    conditions.remember(frame, node.target, node.value)
    store(frame, node.target, value)
    return True


def augmented(frame: Frame, node: cst.AugAssign) -> bool:
    """`a += value`."""
    before = evaluate(frame, node.target)
    value = evaluate(frame, node.value)
    if before.role is Role.IN_PROGRESS and value.kind == HOST:
        return True  # a number that is added leaves an attribute what it is
    copies.use(frame, node, before, writes=True)
    copies.use(frame, node, value)
    result = combine(before, value)
    if before.kind == result.kind == HOST_ARRAY:
        result = result._replace(ref=before.ref)  # which is changed in place
    scaled = type(node.operator) in (cst.DivideAssign, cst.MultiplyAssign)
    if scaled and result.kind == UNKNOWN and before.kind == HOST and not before.role:
        result = result._replace(role=Role.OPAQUE_RESULT)  # a number, whatever its name suggests
    store(frame, node.target, result)
    return True


def store(frame: Frame, target: Any, value: Value) -> None:
    """Assign to any target; writing into a device value may itself block."""
    if type(target) in SEQUENCES and any(type(e.value) is not cst.Name for e in target.elements):
        for element, item in zip(
            target.elements, unpacked(frame, value, len(target.elements)), strict=True
        ):
            store(frame, element.value, item)
    elif type(target) is cst.Subscript:
        _store_item(frame, target, value)
    elif type(target) is cst.Attribute:
        _store_attribute(frame, target, value)
    else:
        bind_target(frame, target, value)


def _store_attribute(frame: Frame, target: cst.Attribute, value: Value) -> None:
    path = dotted(target)
    if not path:
        evaluate(frame, target.value)
        return
    note_moved_attribute(frame, path, value)
    frame.bind(path, value)
    frame.give(path, value)
    keeps(frame, path, value)


def _store_item(frame: Frame, target: cst.Subscript, value: Value) -> None:
    before = evaluate(frame, target.value)
    indices = [index_value(frame, element.slice) for element in target.slice]
    owner = _told_by(frame, target, before, indices, value)
    key = indices[0].literal if len(indices) == 1 else None
    if owner.kind == HOST_ARRAY:
        copies.use(frame, target, taken(owner, part_of(owner), target, indices), writes=True)
        copies.use(frame, target, value)
    path = dotted(target.value)
    note_moved_entries(frame, path, value)
    note_added(frame, target.value, key if isinstance(key, str) else "", value)
    if owner.kind == DEVICE:
        _write_sites(frame, target, owner, indices, value)
        if path and isinstance(key, str):
            frame.note(f"{path}.{key}", value)
        return
    named = any(isinstance(index.literal, str) for index in indices)  # an entry of a mapping
    if owner.kind == HOST_ARRAY and value.kind == DEVICE and not named:
        _write_to_host(frame, target, owner, indices, value)
    elif path:
        _store_entry(frame, path, owner, key, value)
    elif owner.kind == CONTAINER:
        rebind(frame, target.value, holding(owner, key if isinstance(key, str) else "", value))


def _told_by(
    frame: Frame, target: cst.Subscript, owner: Value, indices: list[Value], value: Value
) -> Value:
    """Return what is written to: how, and what is written, may tell what it is."""
    if owner.kind != UNKNOWN or value.kind != DEVICE:
        return owner
    if _is_of_numpy(frame, indices, value):
        return Value(HOST_ARRAY, "numpy", frame.called("__setitem__"))
    if _takes(frame, target, indices, value):
        # No array in host memory is written through these from the device.
        owner = from_params(derived(value, DEVICE, value.framework), owner.params)
        return doubted(owner, Doubt.INFERRED)
    return owner


def _is_of_numpy(frame: Frame, indices: list[Value], value: Value) -> bool:
    """Whether only an array of NumPy is written so: by slices, as the framework's own are not."""
    known = frame.analysis.knowledge.frameworks.get(value.framework)
    written = known is not None and known.immutable
    return written and any(index.role == Role.SLICE for index in indices)


def _takes(frame: Frame, target: cst.Subscript, indices: list[Value], value: Value) -> bool:
    """Whether something is on the device, as it is written through a mask or a tensor."""
    return any(
        (index.kind == HOST_ARRAY and index.framework == value.framework)
        or index_cost(frame, element.slice, index) == MASK_INDEX
        for element, index in zip(target.slice, indices, strict=True)
    )


def _write_to_host(
    frame: Frame, target: cst.Subscript, owner: Value, indices: list[Value], value: Value
) -> None:
    """Note what writing a device value into an array in host memory costs."""
    known = frame.analysis.knowledge.frameworks.get(value.framework)
    if known is None or known.asynchronous_cpu:  # which has no host arrays but NumPy's
        protocol_site(frame, "__array__", target, value)
    elif (
        value.framework == owner.framework
        and owner.role != Role.BATCH
        and all(index.kind == HOST for index in indices)  # through an array it must be there
    ):
        operator_site(frame, "device-write", target, value)


def _store_entry(frame: Frame, path: str, owner: Value, key: object, value: Value) -> None:
    """Store an element of a container, or of what is used as one."""
    if owner.kind == CONTAINER:
        element = value if owner.element is None else join(owner.element, value)
        if owner.element is not None and owner.element.kind == HOST_ARRAY != value.kind:
            element = with_role(element, Role.UNPLACED)  # they are moved one by one
        fields = owner.fields.put(key, value) if isinstance(key, str) else owner.fields
        frame.bind(path, owner._replace(element=element, items=None, fields=fields))
    elif isinstance(key, str):
        frame.note(f"{path}.{key}", value)
    if isinstance(key, str):
        fields = Entries([(key, value)])
        frame.give(path, Value(CONTAINER, role=Role.DICT, element=value, fields=fields))


def _write_sites(
    frame: Frame, target: cst.Subscript, owner: Value, indices: list[Value], value: Value
) -> None:
    """Note what writing into a device value costs: by mask, by index, from the host."""
    costs = [index_cost(frame, e.slice, i) for e, i in zip(target.slice, indices, strict=True)]
    if UPLOADED_INDEX in costs and MASK_INDEX not in costs:
        operator_site(frame, "index-upload", target, owner)
    elif MASK_INDEX in costs and value.kind in (DEVICE, HOST):
        # A number fills what a lone mask chooses, without finding out what that is.
        lone = len(costs) - costs.count(FREE_INDEX) == 1
        operator = "mask-write" if value.kind == DEVICE or not lone else "mask-fill"
        operator_site(frame, operator, target, owner)
    elif DEVICE_INDEX in costs and MASK_INDEX not in costs and value.kind == HOST:
        operator_site(frame, "scalar-write", target, owner)
    elif value.kind == HOST and _is_one_element(owner, target, indices):
        operator_site(frame, "number-write", target, owner)
    elif value.kind == HOST_ARRAY and _is_written(frame, owner, indices, value):
        operator_site(frame, "host-write", target, no_surer(owner, value))


def _is_one_element(owner: Value, target: cst.Subscript, indices: list[Value]) -> bool:
    """Whether numbers choose what is written, which is one element if the array has no more axes.

    A number that is written to one is copied there; to several, it fills them.
    """
    maybe_dict = owner.role in (Role.MODEL_OUTPUT, Role.NAME_INFERRED, Role.UNPLACED)
    numbers = all(
        i.kind == HOST
        and i.role not in (Role.SLICE, Role.ABSENT)
        and not isinstance(i.literal, (str, bool))
        for i in indices
    )
    written = (e.slice.value for e in target.slice if type(e.slice) is cst.Index)
    return not maybe_dict and numbers and all(type(node) is not cst.Ellipsis for node in written)


def _is_written(frame: Frame, owner: Value, indices: list[Value], value: Value) -> bool:
    """Whether an array in host memory is copied into a device value, which is no dict or list.

    One element of many dimensions is given a number.
    """
    known = frame.analysis.knowledge.frameworks[owner.framework]
    copied = value.framework == owner.framework or known.asynchronous_cpu
    entry = any(isinstance(index.literal, str) for index in indices)
    points = all(i.kind == HOST and i.role not in (Role.SLICE, Role.ABSENT) for i in indices)
    number = points and len(indices) > 2
    return (
        copied
        and not (entry or number)
        and owner.role not in (Role.MODEL_OUTPUT, Role.NAME_INFERRED, Role.UNPLACED)
    )


STATEMENTS: Statements = {
    cst.Assign: assign,
    cst.AnnAssign: annotated,
    cst.AugAssign: augmented,
}
