"""What iterating over a value or unpacking it yields, and which loader a loop draws from."""

from __future__ import annotations

from collections.abc import Iterator

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.copies import Memory
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.reasons import MEDIUM
from asyncguard.lint.domain.values import (
    ARRAYS,
    CONTAINER,
    DEVICE,
    EACH,
    EITHER,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MODEL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    derived,
    part_of,
)

MAX_DEPTH = 3  # of containers in containers that are looked into


def first_device(value: Value, depth: int = 0) -> Value:
    """Return the device value that `value` is or holds, else `value`."""
    if value.kind != CONTAINER or depth > MAX_DEPTH:
        return value
    for item in _held(value):
        found = first_device(item, depth + 1)
        if found.kind == DEVICE:
            return found
    return value


def parts(value: Value, depth: int = 0) -> Iterator[Value]:
    """Yield a value and what it holds."""
    yield value
    if value.kind == CONTAINER and depth <= MAX_DEPTH:
        for item in _held(value):
            yield from parts(item, depth + 1)


def _held(value: Value) -> list[Value]:
    inner = [*(value.items or ()), *(v for _, v in value.fields)]
    if value.element is not None:
        inner.append(value.element)
    return inner


def element_of(frame: Frame, value: Value) -> Value:
    """Return what iterating over `value` yields."""
    if value.kind == CONTAINER:
        if value.role == Role.DICT:
            return UNKNOWN_VALUE  # its keys
        if value.element is not None:
            return value.element
        if value.items:
            return join_all(list(value.items)) or UNKNOWN_VALUE
        return UNKNOWN_VALUE
    if value.kind in ARRAYS:
        return part_of(value) if value.role != Role.MODEL_OUTPUT else value
    if value.kind == "loader":
        return batch(frame, value)
    if is_made_of_models(value):
        return value
    if value.kind == UNKNOWN:
        return _held_by_argument(value)
    if value.kind == HOST and not value.is_none:  # which is something else by then
        return HOST_VALUE
    return UNKNOWN_VALUE


def _held_by_argument(value: Value, at: int | None = None) -> Value:
    """Return what an argument of unknown kind holds: anything, or what stands at a place."""
    if not value.params:
        return value
    name = f"{value.name}.{EACH}{'' if at is None else at}"
    return value._replace(role=Role.PART_OF_ARGUMENT, name=name)


def is_made_of_models(value: Value) -> bool:
    """Whether a model is a framework's own, whose elements are models: `Sequential`."""
    return value.kind == MODEL and value.ref is None and value.confidence >= MEDIUM


def batch(frame: Frame, loader: Value) -> Value:
    """Return what a loader yields: in host memory, or on the device if the framework puts it there.

    Or if a library has prepared the loader, which moves each batch then. Where the CPU is
    asynchronous too, arrays in host memory count as device values; but the loader has made these.
    """
    if loader.role == Role.PLACED:
        return placed_batch(loader)
    known = frame.analysis.knowledge.frameworks.get(loader.framework)
    if known is not None and "loader" not in known.types and "loader" not in known.returns:
        return derived(loader, HOST_ARRAY, "numpy")  # it has none: someone else's
    if known is not None and (known.asynchronous_cpu or known.on_device):
        made_already = Role.NONE if known.on_device else Role.SETTLED
        return derived(loader, DEVICE, loader.framework, made_already)
    made = derived(loader, HOST_ARRAY, loader.framework, Role.BATCH)
    return made._replace(ref=loader.ref) if isinstance(loader.ref, Memory) else made


def placed_batch(loader: Value) -> Value:
    """Return what a loader yields whose batches are on the device."""
    return derived(loader, DEVICE, loader.framework, Role.MODEL_OUTPUT)


def unpacked(frame: Frame, value: Value, count: int) -> list[Value]:
    """Return what unpacking `value` into `count` targets gives each."""
    if value.items is not None and len(value.items) == count and value.kind != EITHER:
        return list(value.items)
    if value.role is Role.SETTLED:
        return [value] * count  # `x, y = batch`
    if value.kind == UNKNOWN:
        return [_held_by_argument(value, at) for at in range(count)]
    part = element_of(frame, value)
    if part.kind == DEVICE and not part.role:
        known = frame.analysis.knowledge.frameworks.get(part.framework)
        if known is None or known.asynchronous_cpu:
            part = part._replace(
                role=Role.MODEL_OUTPUT
            )  # batches and functions out of sight give it
    return [part] * count


def join_all(values: list[Value]) -> Value | None:
    """Return one value for all elements: a device value among them makes it one."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return result


def holds_numbers(value: Value) -> bool:
    """Whether this is a list or tuple of numbers that are written there."""
    listed = value.kind == CONTAINER and value.items
    return bool(listed) and all(
        isinstance(item.literal, (int, float)) for item in value.items or ()
    )


def loop_element(frame: Frame, value: Value) -> Value:
    """Return what a `for` loop over `value` binds, through progress bars."""
    if value.kind == "progress":
        return loop_element(frame, value.element) if value.element is not None else UNKNOWN_VALUE
    return element_of(frame, value)


def source_of(value: Value) -> Value:
    """Return the loader at the bottom of `enumerate(tqdm(loader))`, else the value."""
    while value.kind in ("progress", CONTAINER) and isinstance(value.ref, Value):
        value = value.ref
    if value.kind == "progress" and value.element is not None:
        return source_of(value.element)
    return value


def wrapping(inner: Value, element: Value) -> Value:
    """A container whose `ref` remembers the loader that it iterates over."""
    origin = source_of(inner)
    return Value(CONTAINER, element=element, ref=origin if origin.kind == "loader" else None)
