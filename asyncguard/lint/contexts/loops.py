"""What kind of loop is this? The first signs: what it iterates over, and its names.

What its body does adds to them (`Frame.evidence`); `LoopRecord.kind` weighs all.
"""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts import branches
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import holds_numbers, source_of, unpacked
from asyncguard.lint.domain.effects import LoopRecord
from asyncguard.lint.domain.reasons import LOW, MEDIUM, Doubt, Provenance
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    UNKNOWN,
    Role,
    Value,
    container,
    doubted,
)
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, walk

_EPOCH = family("counter.epoch")
_STEP = family("counter.step")
_OF_STEPS = family("counter.of_steps")
_PER_EPOCH = family("counter.per_epoch")
_ACCUMULATES = family("value.accumulation")
_BATCH = family("value.batch")


# What one step trains side by side.
_MEMBERS = family("loop.members")

# How often one step does something: an update for each observation.
_WITHIN_STEP = family("loop.within_step")

# What each of these does is a part of what the loop around them does as well.
_MODEL = family("loop.model")


def for_record(frame: Frame, node: cst.For, iterable: Value) -> LoopRecord:
    """Open the record of a `for` loop."""
    targets = frozenset(n.value for n in walk(node.target) if type(n) is cst.Name)
    names = targets | _iterated_names(node.iter)
    record = LoopRecord(
        node,
        targets,
        line=frame.line(),
        epoch_name=any(_EPOCH(name) for name in names)
        and not _batchy(names)
        and not _within_epochs(node.iter, targets),
        step_name=_in_parts(_innermost(node.iter, iterable))
        or (
            not holds_numbers(iterable)
            and any(map(_is_step, names | _sources(node.iter, views=False)))
        ),
    )
    record.transparent = any(map(_ACCUMULATES, _iterated_names(node.iter)))
    record.transparent |= any(map(_WITHIN_STEP, _iterated_names(node.iter)))
    record.transparent |= any(map(_MEMBERS, _sources(node.iter)))
    record.transparent |= any(map(_MODEL, targets))
    record.transparent |= (
        bool(frame.loops) and not record.epoch_name and _goes_round_twice(node.iter)
    )
    record.once = _takes_one(node.iter) or branches.leaves_loop(node.body)
    origin = source_of(iterable)
    if origin.kind in (UNKNOWN, CONTAINER, "progress") and any(map(_BATCH, targets)):
        record.loader = LOW
    if origin.kind == "loader":
        record.loader = origin.confidence if origin.confidence else MEDIUM - 1
        if origin.confidence < MEDIUM and not frame.trains:
            record.loader = origin.confidence
        record.source = origin.why
        known = frame.analysis.knowledge.frameworks.get(origin.framework)
        record.placed = known is not None and known.asynchronous_cpu
    return record


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


def names_loader(target: cst.BaseExpression) -> bool:
    """Whether a loop's variable is a loader, by its name."""
    return any(_LOADER(n.value) for n in walk(target) if type(n) is cst.Name)


def _innermost(node: cst.BaseExpression, iterable: Value) -> cst.BaseExpression:
    """Return what a progress bar goes over: `tqdm(range(n))`."""
    while iterable.kind == "progress" and type(node) is cst.Call and node.args:
        if _RANGE(dotted(node.func)):
            break  # the bar counts by itself
        node, iterable = node.args[0].value, iterable.element or iterable
    return node


_RANGE = family("loop.range")


def _in_parts(node: cst.BaseExpression) -> bool:
    """Whether this goes over data in parts of a size: `range(0, n, size)`."""
    if type(node) is not cst.Call or not _RANGE(dotted(node.func)):
        return False
    given = [argument.value for argument in node.args if argument.keyword is None]
    return len(given) == 3 and type(given[2]) in (cst.Name, cst.Attribute)


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


def _batchy(names: frozenset[str] | set[str]) -> bool:
    return any(_OF_STEPS(n) for n in names if not _EPOCH(n))


def _within_epochs(node: cst.BaseExpression, targets: frozenset[str]) -> bool:
    """Whether this goes over `range(steps_per_epoch)`, or `range(epochs * steps_per_epoch)`."""
    counted = any(map(_PER_EPOCH, _iterated_names(node)))
    return counted and not any(map(_EPOCH, targets))


_FEED = family("loop.feed")
_LOADER = family("loop.loader")
_STATE = family("state.itself")
TRAINING = family("function.training")


def note_draw(frame: Frame, node: cst.Call) -> None:
    """Note that the innermost loop draws a batch: `next(dataset)`."""
    source = dotted(node.args[0].value).rpartition(".")[2] if node.args else ""
    if not _FEED(source):
        return
    for loop in reversed(frame.loops):
        loop.transparent |= source in loop.targets  # which goes over data sets
        if not loop.transparent:
            loop.loader = max(loop.loader, LOW)
            return


def _iterated_names(node: cst.BaseExpression) -> set[str]:
    if type(node) is not cst.Call:
        return set()
    if dotted(node.func).rpartition(".")[2] not in ("range", "trange", "tqdm"):
        return set()
    return {n.value for n in walk(node) if type(n) is cst.Name} - {"range", "trange", "tqdm"}


def _is_step(name: str) -> bool:
    """Whether a name counts or holds steps or batches; a `batch_size` or checkpoints are none."""
    return _STEP(name)


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


def note_update(frame: Frame, node: cst.Assign, call: cst.Call, value: Value) -> Value:
    """`params, opt_state = update(params, opt_state)` is a training step, by any name.

    Of plain parameters, a `state` or an agent whose method it is, what is called tells as well:
    `state = train(state, batch)`. What else it gives, if that is not known, is on the device.
    """
    knowledge, frameworks = frame.analysis.knowledge, frame.analysis.frameworks
    framework = knowledge.functional_of(frameworks)
    if not framework and value.kind != UNKNOWN:
        return value  # steps change what they train in place
    if names_epochs(call) or not call.args:
        return value
    func = call.func.attr if type(call.func) is cst.Attribute else call.func
    name = func.value if type(func) is cst.Name else ""
    if not framework:
        return _as_before(frame, node, call, name, value)
    owner = dotted(call.func.value) if type(call.func) is cst.Attribute else ""
    taken = {dotted(argument.value) for argument in call.args} if len(call.args) > 1 else set()
    for target in node.targets:
        elements = target.target.elements if type(target.target) is cst.Tuple else ()
        given = [dotted(element.value) for element in elements]
        passed = [path for path in [dotted(target.target), *given] if path in taken]
        back = any(knowledge.updates(path.rpartition(".")[2], name, frameworks) for path in passed)
        agents = [owner] if owner in given else []
        if agents and not knowledge.updates("state", name, frameworks):
            agents = []
        goes_on = any(knowledge.moves_on(path, name) for path in passed)
        if back or agents:
            frame.evidence(strong=True)
        elif goes_on:
            frame.evidence()
        if given and (back or agents or goes_on):
            text = f"`{name}` computes the next training state"
            sure = Provenance.USAGE if back or agents or frame.trains else Provenance.NAME
            made = Value(DEVICE, framework, frame.reason(sure, text), Role.MODEL_OUTPUT)
            plain = [path for path in agents if not _STATE(path)]
            items = zip(given, unpacked(frame, value, len(given)), strict=True)
            return container(
                None,
                tuple(v if v.kind != UNKNOWN or path in plain else made for path, v in items),
            )
    return value if value.kind != UNKNOWN else _as_before(frame, node, call, name, value)


TO_HOST = family("function.to_host")


def _as_before(frame: Frame, node: cst.Assign, call: cst.Call, name: str, value: Value) -> Value:
    """Return what `x = f(x)` out of sight makes of a device value, where functions are pure."""
    path = dotted(node.targets[0].target)
    if not path or path != dotted(call.args[0].value) or TO_HOST(name):
        return value
    before = frame.lookup(path)
    if before is None or before.kind != DEVICE or before.confidence < MEDIUM:
        return value
    pure = frame.analysis.knowledge.functional_of((before.framework,))
    return doubted(before, Doubt.INFERRED) if pure else value


_ROUND = family("function.round")
_FITS = family("function.fits")
_MANY = family("total.given")


def names_epochs(call: cst.Call) -> bool:
    """Whether a call runs a loop of steps, by its name, or trains for a given number of them."""
    name = call.func.attr if type(call.func) is cst.Attribute else call.func
    if type(name) is not cst.Name:
        return False
    return _ROUND(name.value) or (_FITS(name.value) and any(map(_gives_many, call.args)))


def _gives_many(argument: cst.Arg) -> bool:
    """Whether an argument is a number of steps or epochs, which is not one."""
    one = type(argument.value) is cst.Integer and argument.value.value == "1"
    return argument.keyword is not None and _MANY(argument.keyword.value) and not one


_TRAINING = family("function.trains")


def names_training(node: cst.CSTNode) -> bool:
    """Whether a call runs a training step on what it is given, by the name of what is called."""
    if type(node) is not cst.Call or type(node.func) is not cst.Attribute or not node.args:
        return False
    switch = dotted(node.args[0].value) in ("True", "False")  # a model's mode
    return not switch and _TRAINING(node.func.attr.value)


_ONE_STEP = family("function.one_step")


def runs_step(call: cst.Call) -> bool:
    """Whether a call runs one step or batch, by the name of what is called and what it is given."""
    name = call.func.attr if type(call.func) is cst.Attribute else call.func
    loads = any(_LOADER(dotted(argument.value)) for argument in call.args)
    return type(name) is cst.Name and _ONE_STEP(name.value) and not loads


def evaluates(node: cst.CSTNode) -> bool:
    """Whether this is a call of a step that is no training, by its name."""
    if type(node) is not cst.Call or not runs_step(node):
        return False
    return not TRAINING(dotted(node.func).rpartition(".")[2])


def while_record(frame: Frame, node: cst.While) -> LoopRecord:
    """Open the record of a `while` loop."""
    names = {n.value for n in walk(node.test) if type(n) is cst.Name}
    return LoopRecord(
        node,
        line=frame.line(),
        epoch_name=bool(names) and all(map(_EPOCH, names)),
        step_name=any(map(_is_step, names)),
    )
