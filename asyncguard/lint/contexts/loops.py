"""What kind of loop is this? The first signs: what it iterates over, and its names.

What its body does adds to them (`Nesting.does`); `work.classify` weighs all.
"""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts import branches
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import holds_numbers, source_of
from asyncguard.lint.domain.loops import LoopRecord
from asyncguard.lint.domain.reasons import LOW, NAMED, Provenance
from asyncguard.lint.domain.values import (
    CONTAINER,
    UNKNOWN,
    Value,
)
from asyncguard.lint.domain.work import LoopShape
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, walk

_EPOCH = family("counter.epoch")
_STEP = family("counter.step")
_GENERATION = family("counter.generation")
_PER_EPOCH = family("counter.per_epoch")
_ACCUMULATES = family("value.accumulation")
_BATCH = family("value.batch")
_BATCHES = family("value.batches")
_ITEM = family("counter.batch")
_LOADER = family("loop.loader")


# What one step trains side by side.
_MEMBERS = family("loop.members")


def for_record(frame: Frame, node: cst.For, iterable: Value) -> LoopRecord:
    """Open the record of a `for` loop."""
    targets = frozenset(n.value for n in walk(node.target) if type(n) is cst.Name)
    counted = _iterated_names(node.iter)
    names = targets | counted
    epochs = any(map(_EPOCH, names)) and not _within_epochs(node.iter, targets)
    loaders = any(map(_LOADER, targets))  # each is gone over from its first batch to its last
    origin = source_of(iterable)
    return LoopRecord(
        node,
        targets,
        line=frame.line(),
        shape=(LoopShape() if loaders else _shape(frame, origin, targets))._replace(
            names_epochs=epochs or loaders,
            names_batches=names_batches(node.iter),
            names_steps=_names_steps(node.iter, iterable, names),
            counts=_counts(node.iter, iterable),
            once=_takes_one(node.iter) or branches.leaves_loop(node.body),
        ),
        transparent=_is_within_step(node.iter, targets, counted)
        or (bool(frame.loops) and not epochs and _goes_round_twice(node.iter)),
        source=origin.why if origin.kind == "loader" else None,
    )


def names_batches(node: cst.BaseExpression) -> bool:
    """Whether this goes over what is named after batches: `tqdm(text_batches)`."""
    return any(map(_BATCHES, _sources(node, views=False)))


def _names_steps(node: cst.BaseExpression, iterable: Value, names: frozenset[str]) -> bool:
    """Whether this goes over steps or batches, by its names, or over parts of a size.

    Each generation of an evolution is an update, as each step of a descent is.
    """
    innermost = _innermost(node, iterable)
    if _in_parts(innermost) or any(map(_GENERATION, _iterated_names(innermost))):
        return True
    if _is_within_batch(innermost) or holds_numbers(iterable) or _numbers_rows(innermost, names):
        return False
    return any(map(_STEP, names | _sources(node, views=False)))


def _is_within_step(
    node: cst.BaseExpression, targets: frozenset[str], counted: frozenset[str]
) -> bool:
    """Whether what a loop does counts for the loop around it: it goes over what one step has."""
    return (
        any(map(_ACCUMULATES, counted))
        or any(map(_MEMBERS, _sources(node)))
        or any(map(_MEMBERS, targets))
    )


def _shape(frame: Frame, origin: Value, targets: frozenset[str]) -> LoopShape:
    """Return how surely a loop goes over batches, by what it draws from and by its variables."""
    shape = shape_of(frame, origin)
    if shape.batches == LOW and frame.trains:
        return shape._replace(batches=NAMED)
    guessed = origin.kind in (UNKNOWN, CONTAINER, "progress") and any(map(_BATCH, targets))
    return LoopShape(LOW) if guessed else shape


def shape_of(frame: Frame, origin: Value) -> LoopShape:
    """Return the shape of a loop that draws from something: whether it goes over batches."""
    if origin.kind != "loader":
        return LoopShape()
    known = frame.analysis.knowledge.frameworks.get(origin.framework)
    return LoopShape(origin.confidence, known is not None and known.asynchronous_cpu)


def goes_over_keys(
    iterable: cst.BaseExpression, target: cst.BaseExpression, *code: cst.CSTNode
) -> bool:
    """Whether what is gone over is a dict, which gives its keys: `for key in x: x[key]`."""
    path, key = dotted(iterable), dotted(target)
    return bool(path and key) and any(
        type(node) is cst.Subscript
        and len(node.slice) == 1
        and type(node.slice[0].slice) is cst.Index
        and dotted(node.slice[0].slice.value) == key
        and dotted(node.value) == path
        for part in code
        for node in walk(part)
    )


def _innermost(node: cst.BaseExpression, iterable: Value) -> cst.BaseExpression:
    """Return what a progress bar goes over: `tqdm(range(n))`."""
    while iterable.kind == "progress" and type(node) is cst.Call and node.args:
        if _RANGE(dotted(node.func)):
            break  # the bar counts by itself
        node, iterable = node.args[0].value, iterable.element or iterable
    return node


_RANGE = family("loop.range")
_IN_ORDER = frozenset({"reversed", "list", "enumerate"})  # which go over what they are given


def _counts(node: cst.BaseExpression, iterable: Value) -> bool:
    """Whether this goes over a range of numbers, with a progress bar or backwards maybe."""
    node = _innermost(node, iterable)
    while type(node) is cst.Call and dotted(node.func) in _IN_ORDER and node.args:
        node = node.args[0].value
    return type(node) is cst.Call and bool(_RANGE(dotted(node.func)))


def _in_parts(node: cst.BaseExpression) -> bool:
    """Whether this goes over data in parts of a size: `range(0, n, size)`."""
    if type(node) is not cst.Call or not _RANGE(dotted(node.func)):
        return False
    given = [argument.value for argument in node.args if argument.keyword is None]
    return len(given) == 3 and type(given[2]) in (cst.Name, cst.Attribute)


_BATCH_SIZE = family("loop.batch_size")


def _is_within_batch(node: cst.BaseExpression) -> bool:
    """Whether this goes over the items of one batch: `range(batch_size)`."""
    if type(node) is not cst.Call or not _RANGE(dotted(node.func)) or len(node.args) != 1:
        return False
    return bool(_BATCH_SIZE(dotted(node.args[0].value).rpartition(".")[2]))


def _numbers_rows(node: cst.BaseExpression, names: frozenset[str]) -> bool:
    """Whether this numbers the items of one batch: `for batch_idx in range(ids.shape[0])`."""
    if type(node) is not cst.Call or dotted(node.func) != "range" or len(node.args) != 1:
        return False
    return _counts_rows(node.args[0].value) and all(map(_ITEM, filter(_STEP, names)))


def _counts_rows(node: cst.BaseExpression) -> bool:
    """Whether this is how many rows an array has: `x.shape[0]`, `x.size(0)`."""
    if type(node) is cst.Call and len(node.args) == 1:
        path, first = dotted(node.func), node.args[0].value
        return path.endswith(".size") and type(first) is cst.Integer and first.value == "0"
    if type(node) is not cst.Subscript or len(node.slice) != 1:
        return False
    index = node.slice[0].slice
    if type(index) is not cst.Index or type(index.value) is not cst.Integer:
        return False
    return index.value.value == "0" and dotted(node.value).endswith(".shape")


def _takes_one(node: cst.BaseExpression) -> bool:
    """Whether this is a look at the first of something: `dataset.take(1)`."""
    if type(node) is not cst.Call or not dotted(node.func).endswith(".take"):
        return False
    count = node.args[0].value if len(node.args) == 1 else None
    return type(count) is cst.Integer and count.value == "1"


FEW = 5


def _goes_round_twice(node: cst.BaseExpression) -> bool:
    """Whether this repeats something a few times: `range(2)`, as a step trains its generator."""
    if type(node) is not cst.Call or dotted(node.func) != "range" or len(node.args) != 1:
        return False
    count = node.args[0].value
    return type(count) is cst.Integer and count.evaluated_value <= FEW


def _within_epochs(node: cst.BaseExpression, targets: frozenset[str]) -> bool:
    """Whether this goes over `range(steps_per_epoch)`, or `range(epochs * steps_per_epoch)`."""
    counted = any(map(_PER_EPOCH, _iterated_names(node)))
    return counted and not any(map(_EPOCH, targets))


_FEED = family("loop.feed")


def note_draw(frame: Frame, node: cst.Call) -> None:
    """Note that the innermost loop draws a batch: `next(dataset)`."""
    source = dotted(node.args[0].value).rpartition(".")[2] if node.args else ""
    if not _FEED(source):
        return
    for loop in reversed(frame.loops):
        loop.transparent |= source in loop.targets  # which goes over data sets
        if not loop.transparent:
            loop.draws(LOW)
            return


def note_upload(frame: Frame, moved: cst.BaseExpression) -> None:
    """Note that a loop moves what it goes over to the device, one by one: these are batches.

    They are if something is made of them there: an optimizer's state is moved and stored.
    """
    root = moved
    while type(root) is cst.Attribute or type(root) is cst.Subscript:
        root = root.value
    name = dotted(root)
    loop = next((loop for loop in reversed(frame.loops) if name in loop.targets), None)
    if loop is not None and loop.shape.batches < 0 and not loop.comprehension:
        loop.shape = loop.shape._replace(batches=LOW, on_device=True)
        loop.source = frame.reason(Provenance.LOADER, f"`{name}` is moved to the device")


_COUNTING = frozenset({"range", "trange", "tqdm"})


def _iterated_names(node: cst.BaseExpression) -> frozenset[str]:
    if type(node) is not cst.Call or dotted(node.func).rpartition(".")[2] not in _COUNTING:
        return frozenset()
    return frozenset(n.value for n in walk(node) if type(n) is cst.Name) - _COUNTING


def _sources(node: cst.BaseExpression, *, views: bool = True) -> set[str]:
    """Return the last names of what is iterated over, through calls such as `enumerate`.

    `views`: those of dicts, too; the items of a batch are its parts.
    """
    if type(node) is cst.Call:
        owner, _, name = dotted(node.func).rpartition(".")
        first = node.args[:1]
        inner = set[str]().union(*(_sources(argument.value, views=views) for argument in first))
        if name in ("items", "values"):
            return inner | ({owner.rpartition(".")[2]} if views else set())
        return inner | {name}
    return {dotted(node).rpartition(".")[2]}


def while_record(frame: Frame, node: cst.While) -> LoopRecord:
    """Open the record of a `while` loop."""
    names = {n.value for n in walk(node.test) if type(n) is cst.Name}
    return LoopRecord(
        node,
        line=frame.line(),
        shape=LoopShape(
            names_epochs=bool(names) and all(map(_EPOCH, names)),
            names_steps=any(map(_STEP, names)),
            until=bool(names - {"True"}),
        ),
    )
