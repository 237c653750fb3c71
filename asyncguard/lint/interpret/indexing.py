"""Subscripts: an element of a container, or a view of an array that may itself block.

A mask on the device needs its number of true elements, a list or a host array is uploaded first.
"""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.frame import Expressions, Frame, evaluate
from asyncguard.lint.contexts.iteration import element_of
from asyncguard.lint.domain.reasons import HIGH, MEDIUM, Doubt, Provenance, Reason
from asyncguard.lint.domain.values import (
    CALLABLE,
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    confirmed,
    container,
    device,
    doubted,
    no_surer,
    part_of,
    symbol,
)
from asyncguard.lint.interpret.protocols import operator_site, protocol_site
from asyncguard.lint.interpret.types import instance_of
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted


def subscript(frame: Frame, node: cst.Subscript) -> Value:
    """Indexing: an element of a container, or a device view that may itself block."""
    path = _subscript_path(node)
    owner = evaluate(frame, node.value)
    indices = [index_value(frame, element.slice) for element in node.slice]
    chosen_by = list(zip(node.slice, indices, strict=True))
    chosen = any(
        i.kind == DEVICE and index_cost(frame, e.slice, i) == MASK_INDEX for e, i in chosen_by
    )  # no list takes one, and no array in host memory
    if path and (stored := frame.lookup(path)) is not None and stored.kind != UNKNOWN:
        return stored
    if owner.kind == DEVICE:
        index_sites(frame, node, owner, indices)
        if owner.role == Role.MODEL_OUTPUT and all(i.literal is not None for i in indices):
            return owner
        part = part_of(owner)
        return confirmed(part, _by_mask(frame)) if chosen else part
    if owner.kind == HOST_ARRAY and not (owner.confidence < HIGH and chosen):
        number = owner.role == Role.INDICES and all(i.kind == HOST and not i.role for i in indices)
        for index in indices:
            if index.kind == DEVICE and owner.framework == "numpy":
                protocol_site(frame, "__array__", node, index)
        return HOST_VALUE if number else part_of(owner)
    if owner.kind == CONTAINER:
        item = _container_item(frame, node, owner, indices)
        told = item.kind == UNKNOWN and path and owner.framework  # by its name
        return frame.hint(path) if told else item
    if owner.kind == HOST and owner.role not in (Role.ABSENT, Role.SLICE):
        return owner if owner.literal is not None else HOST_VALUE
    if owner.kind in (UNKNOWN, HOST_ARRAY) and chosen:
        masked = device(_framework_of(indices), _by_mask(frame))
        index_sites(frame, node, masked, indices)
        return masked
    if owner.kind == SYMBOL and frame.analysis.knowledge.framework_of(owner.name) == "numpy":
        return Value(HOST_ARRAY, "numpy")  # `np.r_[0:4, 5:n]`
    if owner.kind == SYMBOL and owner.name == "sys.modules" and _is_own_name(node):
        return symbol(frame.analysis.module_name)
    if (chosen_from := chosen_by_comparison(frame, owner, indices)) is not None:
        index_sites(frame, node, chosen_from, indices)
        return chosen_from
    if owner.kind == UNKNOWN and owner.params:
        if any(index_cost(frame, e.slice, i) == MASK_INDEX for e, i in chosen_by):
            operator_site(frame, "mask-read", node, Value(params=owner.params))
        return Value(params=owner.params)
    if path:
        return frame.hint(path)
    return UNKNOWN_VALUE


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


def _framework_of(values: list[Value]) -> str:
    return next(value.framework for value in values if value.kind == DEVICE)


def _is_own_name(node: cst.Subscript) -> bool:
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return type(index) is cst.Index and dotted(index.value) == "__name__"


def _subscript_path(node: cst.Subscript) -> str:
    """Name `d["key"]` as a path, so that hints and assignments find it."""
    base = dotted(node.value)
    if base and len(node.slice) == 1 and type(node.slice[0].slice) is cst.Index:
        key = node.slice[0].slice.value
        if type(key) is cst.SimpleString:
            return f"{base}.{key.raw_value}"
    return ""


def index_value(frame: Frame, node: cst.BaseSlice) -> Value:
    if type(node) is cst.Index:
        return evaluate(frame, node.value)
    result = HOST_VALUE
    if type(node) is cst.Slice:
        for bound in (node.lower, node.upper, node.step):
            if bound is not None:
                value = evaluate(frame, bound)
                told = value.confidence < MEDIUM and value.role == Role.UNPLACED
                if value.kind == DEVICE and not told:
                    operator_site(frame, "slice-bound", bound, value)
    return result._replace(role=Role.SLICE)


def _container_item(frame: Frame, node: cst.Subscript, owner: Value, indices: list[Value]) -> Value:
    index = indices[0] if len(indices) == 1 else HOST_VALUE
    if index.role == Role.SLICE:
        return container(element_of(frame, owner))
    key = index.literal
    if isinstance(key, str):
        for name_, value in owner.fields:
            if name_ == key:
                return value
        if owner.fields:  # what the other keys hold says nothing of this one
            return UNKNOWN_VALUE
    if (
        isinstance(key, int)
        and owner.items is not None
        and -len(owner.items) <= key < len(owner.items)
    ):
        return owner.items[key]
    if owner.role == Role.DICT:
        return owner.element if owner.element is not None else UNKNOWN_VALUE
    if index.kind == DEVICE and index.role != Role.MODEL_OUTPUT:  # which may be a dict's key
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
            operator_site(frame, "mask-read", node, read._replace(framework=owner.framework))
        elif how == UPLOADED_INDEX and not _may_be_numpy(frame, owner):
            operator_site(frame, "index-upload", node, _indexed(owner, index))


def _in_module(frame: Frame) -> bool:
    """Whether this is a module's, in a file of one framework: what that is given is there."""
    cls = frame.function.cls if frame.function is not None else None
    return cls is not None and frame.analysis.is_alone and instance_of(cls).kind in CALLABLE


def chosen_from_device(frame: Frame, node: cst.Subscript, framework: str) -> None:
    """Note what an index costs into something unknown of which a part is given to a model."""
    with frame.quiet():
        indices = [index_value(frame, element.slice) for element in node.slice]
    if any(index.kind == HOST_ARRAY and index.framework == framework for index in indices):
        why = frame.reason(Provenance.USAGE, "a part of it is passed to a model")
        index_sites(frame, node, device(framework, why), indices)


def _may_be_numpy(frame: Frame, owner: Value) -> bool:
    """Whether what is indexed may as well be an array of NumPy's, which has the same methods."""
    alike = frame.analysis.knowledge.dispatches(owner.framework)
    return alike and owner.role in (Role.UNPLACED, Role.NAME_INFERRED)


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
        return (
            UPLOADED_INDEX
            if index.role != Role.MASK and not _is_element(frame, node)
            else FREE_INDEX
        )
    named = index.role != Role.INDICES and _MASK_NAME(_chooser(frame, node))
    named = named and _has_masks(frame, index)
    if index.kind in (DEVICE, UNKNOWN) and (index.role == Role.MASK or named):
        return MASK_INDEX
    if index.kind == DEVICE:
        known = index.confidence == HIGH and index.role not in (
            Role.UNPLACED,
            Role.MODEL_OUTPUT,
            Role.NAME_INFERRED,
        )
        return (
            DEVICE_INDEX if known or index.role == Role.INDICES else FREE_INDEX
        )  # it may be a mask
    if index.kind == UNKNOWN and samples(frame, node):
        return UPLOADED_INDEX
    return FREE_INDEX


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
        return _subscript_path(inner).rpartition(".")[2]
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


def samples(frame: Frame, node: cst.BaseSlice) -> bool:
    """Whether an index of unknown kind is what a training loop draws from a sampler of indices."""
    name = dotted(node.value) if type(node) is cst.Index else ""
    drawn = any(name in loop.targets for loop in frame.loops if loop.strong)
    return drawn and _SAMPLED(name)


EXPRESSIONS: Expressions = {
    cst.Subscript: subscript,
}
