"""Subscripts: an element of a container, or a view of an array that may itself block.

A mask on the device needs its number of true elements, a list or a host array is uploaded first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.contexts.frame import Expressions, Frame, evaluate
from asyncguard.lint.contexts.iteration import element_of, is_made_of_models
from asyncguard.lint.contexts.priors import prior_for
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.reasons import HIGH, MEDIUM, Doubt, Provenance, Reason
from asyncguard.lint.domain.values import (
    CALLABLE,
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MAY_BE_NUMBER,
    MODEL,
    ONE_NUMBER,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Place,
    Role,
    Value,
    as_sure,
    confirmed,
    container,
    device,
    doubted,
    no_surer,
    part_of,
    symbol,
    with_role,
)
from asyncguard.lint.interpret.lookup import computed_with
from asyncguard.lint.interpret.memory import taken
from asyncguard.lint.interpret.protocols import operator_site, protocol_site
from asyncguard.lint.interpret.reads import may_be_read
from asyncguard.lint.interpret.structures import entry, keyed
from asyncguard.lint.interpret.types import instance_of
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, item_path

_FORM = family("value.form")


class Index(NamedTuple):
    """The indices of one subscript, evaluated."""

    node: cst.Subscript
    path: str  # of `d["key"]`, where it has one
    values: list[Value]
    is_mask: bool  # one is a mask on the device, which no list takes and no array in host memory


def subscript(frame: Frame, node: cst.Subscript) -> Value:
    """Indexing: an element of a container, or a device view that may itself block."""
    path = item_path(node)
    owner = evaluate(frame, node.value)
    values = [index_value(frame, element.slice) for element in node.slice]
    masks = (v for v in _masks(frame, node, values) if v.kind == DEVICE)
    index = Index(node, path, values, any(True for _ in masks))
    if path and (stored := frame.lookup(path)) is not None and stored.kind != UNKNOWN:
        return stored
    if any(isinstance(value.literal, str) and _FORM(value.literal) for value in values):
        return HOST_VALUE
    element = _ELEMENTS.get(owner.kind)
    found = element(frame, owner, index) if element is not None else None
    if not path or (found is not None and found.kind != UNKNOWN):
        return UNKNOWN_VALUE if found is None else found
    hinted = prior_for(frame, path, named=found is None)
    return hinted if found is None or hinted.kind != UNKNOWN else found


def _masks(frame: Frame, node: cst.Subscript, values: list[Value]) -> Iterator[Value]:
    """Yield the indices that choose elements by a mask."""
    for element, value in zip(node.slice, values, strict=True):
        if index_cost(frame, element.slice, value) == MASK_INDEX:
            yield value


def _of_device(frame: Frame, owner: Value, index: Index) -> Value:
    index_sites(frame, index.node, owner, index.values)
    literals = [value.literal for value in index.values]
    if any(isinstance(literal, str) for literal in literals):
        return keyed(owner)
    if None not in literals and owner.role in (Role.MODEL_OUTPUT, Role.SETTLED):
        return owner
    _learn_masks(frame, owner, index)
    part = part_of(owner)
    return confirmed(part, _by_mask(frame)) if index.is_mask else part


def _learn_masks(frame: Frame, owner: Value, index: Index) -> None:
    """Learn that a variable is a mask on the device, for it chooses from what is there."""
    if owner.confidence < MEDIUM:
        return
    for element, value in zip(index.node.slice, index.values, strict=True):
        name = element.slice.value if type(element.slice) is cst.Index else None
        unsure = value.kind == UNKNOWN or (value.kind == DEVICE and value.confidence < MEDIUM)
        if not unsure or type(name) is not cst.Name:
            continue
        if index_cost(frame, element.slice, value) == MASK_INDEX:
            why = frame.reason(Provenance.USAGE, "it chooses from a device value")
            frame.note(
                name.value, device(owner.framework, why, value.params)._replace(role=Role.MASK)
            )


def _of_host_array(frame: Frame, owner: Value, index: Index) -> Value:
    if owner.confidence < HIGH and index.is_mask:
        return _of_masked(frame, index)
    for value in index.values:
        if value.kind == DEVICE and owner.framework == "numpy":
            protocol_site(frame, "__array__", index.node, value)
        elif may_be_read(value) and owner.confidence >= MEDIUM:
            # A table in host memory takes no index on the device but a number, which it reads.
            operator_site(frame, "scalar-index", index.node, no_surer(value, owner))
    points = all(value.kind == HOST and not value.role for value in index.values)
    if points and owner.role == Role.INDICES:
        return HOST_VALUE
    part = part_of(owner)._replace(name=MAY_BE_NUMBER) if points else part_of(owner)
    return taken(owner, part, index.node, index.values)


def _of_masked(frame: Frame, index: Index) -> Value:
    """Return what a mask on the device chooses from, which must be there as well."""
    framework = next(value.framework for value in index.values if value.kind == DEVICE)
    masked = device(framework, _by_mask(frame))
    index_sites(frame, index.node, masked, index.values)
    return masked


def _of_container(frame: Frame, owner: Value, index: Index) -> Value:
    item = _container_item(frame, index.node, owner, index.values)
    told = item.kind == UNKNOWN and index.path and owner.framework  # by its name
    return prior_for(frame, index.path) if told else item


def _of_plain(frame: Frame, owner: Value, index: Index) -> Value | None:
    if owner.role in (Role.ABSENT, Role.SLICE):
        return None
    return owner if owner.literal is not None else HOST_VALUE


def _of_symbol(frame: Frame, owner: Value, index: Index) -> Value | None:
    if frame.analysis.knowledge.framework_of(owner.name) == "numpy":
        return Value(HOST_ARRAY, "numpy")  # `np.r_[0:4, 5:n]`
    if made := frame.analysis.knowledge.returns.exact.get(f"{owner.name}.__getitem__"):
        return Value(*made)  # `Device["CUDA"]`
    if owner.name == "sys.modules" and _is_own_name(index.node):
        return symbol(frame.analysis.module_name)
    table = frame.analysis.table(frame, owner.name)
    return _of_container(frame, table, index) if table is not None else None


def _of_unknown(frame: Frame, owner: Value, index: Index) -> Value | None:
    if index.is_mask:
        return _of_masked(frame, index)
    if (compared := chosen_by_comparison(frame, owner, index.values)) is not None:
        index_sites(frame, index.node, compared, index.values)
        return compared
    if not owner.params:
        return None
    for _ in _masks(frame, index.node, index.values):
        operator_site(frame, "mask-read", index.node, Value(params=owner.params))
        break
    return Value(name=_entry_of(owner, index), params=owner.params)


def _entry_of(owner: Value, index: Index) -> str:
    """Return which entry of an argument this is, by the keys that lead there; "": another part."""
    key = index.values[0].literal if len(index.values) == 1 else None
    plain = isinstance(key, str) and "." not in key and owner.role is not Role.MASK
    return f"{owner.name}.{key}" if plain else ""


def _of_model(frame: Frame, owner: Value, index: Index) -> Value | None:
    """`self.layers[0]`, or how a compiled function is launched: `kernel[blocks, threads]`."""
    launched = isinstance(owner.ref, FunctionInfo)
    return owner if launched or is_made_of_models(owner) else None


_ELEMENTS: Mapping[str, Callable[[Frame, Value, Index], Value | None]] = {
    DEVICE: _of_device,
    HOST_ARRAY: _of_host_array,
    CONTAINER: _of_container,
    HOST: _of_plain,
    MODEL: _of_model,
    SYMBOL: _of_symbol,
    UNKNOWN: _of_unknown,
}


def chosen_by_comparison(frame: Frame, owner: Value, indices: list[Value]) -> Value | None:
    """Return what an unknown comparison chooses from: an array, on the device in a step.

    Of the only framework in the file, if that knows of no other arrays.
    """
    analysis = frame.analysis
    if owner.kind != UNKNOWN or all(i.kind != UNKNOWN or i.role != Role.MASK for i in indices):
        return None
    if not analysis.is_alone:
        return None
    why = frame.by_name("a comparison chooses from it")
    return device(analysis.frameworks[0], why, owner.params)


def _by_mask(frame: Frame) -> Reason:
    return frame.reason(Provenance.USAGE, "a mask on the device chooses from it")


def _is_own_name(node: cst.Subscript) -> bool:
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return type(index) is cst.Index and dotted(index.value) == "__name__"


def index_value(frame: Frame, node: cst.BaseSlice) -> Value:
    if type(node) is cst.Index:
        index = computed_with(frame, node.value)
        if index.role == Role.SLICE:
            _bound_sites(frame, [(node.value, bound) for bound in index.items or ()])
        return index
    if type(node) is cst.Slice:
        bounds = [b for b in (node.lower, node.upper, node.step) if b is not None]
        _bound_sites(frame, [(bound, evaluate(frame, bound)) for bound in bounds])
    return HOST_VALUE._replace(role=Role.SLICE)


def _bound_sites(frame: Frame, bounds: Sequence[tuple[cst.BaseExpression, Value]]) -> None:
    """Note the bounds of a slice that are on the device, or may be where callers hand them."""
    for node, value in bounds:
        unsure = value.confidence < MEDIUM and value.place is Place.EITHER
        if may_be_read(value) and not unsure:
            operator_site(frame, "slice-bound", node, value)


def _container_item(frame: Frame, node: cst.Subscript, owner: Value, indices: list[Value]) -> Value:
    index = indices[0] if len(indices) == 1 else HOST_VALUE
    if index.role == Role.SLICE:
        return container(element_of(frame, owner))
    key = index.literal
    if (known := entry(owner, key)) is not None:
        return known
    if (
        isinstance(key, int)
        and owner.items is not None
        and -len(owner.items) <= key < len(owner.items)
    ):
        return owner.items[key]
    if owner.role == Role.DICT:
        element = owner.element if owner.element is not None else UNKNOWN_VALUE
        declared = element.kind == DEVICE and not element.role and isinstance(key, str)
        return with_role(element, Role.ENTRY) if declared else element
    listed = owner.items is not None  # as no dict is, whose key a part of an output may be
    if index.kind == DEVICE and (listed or index.role != Role.MODEL_OUTPUT):
        protocol_site(frame, "__index__", node, index)
    return element_of(frame, owner)


def index_sites(frame: Frame, node: cst.Subscript, owner: Value, indices: list[Value]) -> None:
    """Note what indexing a device value with such indices costs."""
    for element, index in zip(node.slice, indices, strict=True):
        how = index_cost(frame, element.slice, index)
        if how == MASK_INDEX:
            read = (index if index.kind == DEVICE else doubted(owner, Doubt.INFERRED))._replace(
                role=Role.NONE
            )
            if index.kind == owner.kind == DEVICE and (
                index.role == Role.MASK or _in_module(frame)
            ):
                read = confirmed(read, _by_mask(frame))  # no list takes one
            elif index.kind == owner.kind == DEVICE and owner.confidence > read.confidence:
                read = as_sure(read, owner)  # as which it is known from here on
            operator_site(frame, "mask-read", node, read._replace(framework=owner.framework))
        elif how == UPLOADED_INDEX:
            operator_site(frame, "index-upload", node, _indexed(owner, index))
        elif index.kind == DEVICE and index.name == ONE_NUMBER:
            operator_site(frame, "scalar-index", node, no_surer(index, owner))


def _in_module(frame: Frame) -> bool:
    """Whether this is a module's, in a file of one framework: what that is given is there."""
    cls = frame.function.cls if frame.function is not None else None
    return cls is not None and frame.analysis.is_alone and instance_of(cls).kind in CALLABLE


def chosen_from_device(frame: Frame, node: cst.Subscript, framework: str) -> None:
    """Note what an index costs into something unknown of which a part is given to a model."""
    with frame.speculation():
        indices = [index_value(frame, element.slice) for element in node.slice]
    if any(index.kind == HOST_ARRAY and index.framework == framework for index in indices):
        why = frame.reason(Provenance.USAGE, "a part of it is passed to a model")
        index_sites(frame, node, device(framework, why), indices)


def _indexed(owner: Value, index: Value) -> Value:
    """Return what is indexed, as sure as both are known; a tensor indexes nothing but tensors."""
    parts = (index, *(index.items or ()))
    if any(part.kind == HOST_ARRAY and part.framework == owner.framework for part in parts):
        owner = confirmed(owner, Reason(Provenance.USAGE, "a tensor indexes it"))
    return no_surer(owner, index) if index.kind != UNKNOWN else doubted(owner, Doubt.INFERRED)


MASK_INDEX, UPLOADED_INDEX, DEVICE_INDEX, FREE_INDEX = "mask", "upload", "device", ""
_MASK_NAME = family("value.mask")


def index_cost(frame: Frame, node: cst.BaseSlice, index: Value) -> str:
    """Return what kind of index this is, as far as its costs go."""
    if index.kind == CONTAINER:
        return _sequence_cost(index)
    if index.kind == HOST_ARRAY:
        free = _is_pinned_mask(index) or _is_element(frame, node)
        return FREE_INDEX if free else UPLOADED_INDEX
    if index.kind not in (DEVICE, UNKNOWN):
        return FREE_INDEX
    if index.role == Role.MASK or _is_named_mask(frame, node, index):
        return MASK_INDEX
    if index.kind == UNKNOWN:
        return FREE_INDEX
    known = index.confidence == HIGH and index.role not in _MAYBE_MASKS
    return DEVICE_INDEX if known or index.role == Role.INDICES else FREE_INDEX


# What is in one of these roles may be a mask.
_MAYBE_MASKS = frozenset({Role.UNPLACED, Role.MODEL_OUTPUT, Role.NAME_INFERRED})


def _is_pinned_mask(index: Value) -> bool:
    """Whether this is a mask of the framework's own in host memory, of which it copies no more
    than the places of the true elements, from pinned memory; one of NumPy is copied as it is.
    """
    return index.role == Role.MASK and index.framework != "numpy"


def _is_named_mask(frame: Frame, node: cst.BaseSlice, index: Value) -> bool:
    named = index.role != Role.INDICES and _MASK_NAME(_chooser(frame, node))
    return named and _has_masks(frame, index)


def _has_masks(frame: Frame, index: Value) -> bool:
    """Whether the framework of an index has functions that make masks; others may mean indices."""
    frameworks = (index.framework,) if index.framework else frame.analysis.frameworks
    known = (frame.analysis.knowledge.frameworks.get(framework) for framework in frameworks)
    return any(framework is not None and framework.masks is not None for framework in known)


def _chooser(frame: Frame, node: cst.BaseSlice) -> str:
    """Return the last name of what an index is made of, by methods that keep a mask one."""
    inner = node.value if type(node) is cst.Index else None
    keeps = frame.analysis.knowledge.keeps_masks
    while type(inner) is cst.Call and type(inner.func) is cst.Attribute:
        if not any(inner.func.attr.value in keeps.get(f, ()) for f in frame.analysis.frameworks):
            return ""
        inner = inner.func.value
    if type(inner) is cst.Subscript:
        return item_path(inner).rpartition(".")[2]
    return dotted(inner).rpartition(".")[2] if inner is not None else ""


def _is_element(frame: Frame, node: cst.BaseSlice) -> bool:
    """Whether an index is what a loop goes over, one by one: a number, if its name says no more."""
    name = dotted(node.value) if type(node) is cst.Index else ""
    return not _SAMPLED(name) and any(name in loop.targets for loop in frame.loops)


def _sequence_cost(index: Value) -> str:
    """Return what a tuple or list costs as an index: a tuple of indices is as many of them."""
    parts = [*(index.items or ()), *([index.element] if index.element is not None else [])]
    if any(part.role == Role.SLICE for part in parts):
        return FREE_INDEX
    on_device = any(part.kind == DEVICE for part in parts)
    if index.role != Role.TUPLE:
        return DEVICE_INDEX if on_device else UPLOADED_INDEX
    if any(part.kind in _UPLOADED for part in parts):
        return UPLOADED_INDEX
    return DEVICE_INDEX if on_device else FREE_INDEX


_UPLOADED = frozenset({CONTAINER, HOST_ARRAY})


_SAMPLED = family("indices.sampled")


EXPRESSIONS: Expressions = {
    cst.Subscript: subscript,
}
