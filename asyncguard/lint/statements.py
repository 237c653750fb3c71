"""Executing statements abstractly: each path's variables, joined where paths meet.

A loop's body runs twice: first silently, to learn what its variables become and what kind of loop
it is, then once more to note sites. A branch that does not fall through leaves its variables out
of the join.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from asyncguard.lint import builtin_calls, guards, loops
from asyncguard.lint.expressions import (
    DEVICE_INDEX,
    MASK_INDEX,
    SEQUENCES,
    UPLOADED_INDEX,
    asked_for,
    asks_whether_on_device,
    bind_target,
    combine,
    element_of,
    index_cost,
    narrow,
    operator_site,
    protocol_site,
    truth,
    type_value,
)
from asyncguard.lint.expressions import (
    _index as index_value,
)
from asyncguard.lint.frames import MAX_DEPTH, Frame, Guard, LoopRecord, evaluate, merge
from asyncguard.lint.tree import children, dotted, walk
from asyncguard.lint.values import (
    ANSWER,
    BATCH,
    CONTAINER,
    DEVICE,
    DICT,
    HINTED,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MEDIUM,
    PAIRS,
    STRUCTURE,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    WHEREVER,
    Value,
    container,
    device,
    from_params,
    join,
    part_of,
    weaken,
)
from asyncguard.lint.words import naming
from asyncguard.model import Loop, SyncKind

Executor = Callable[[Frame, Any], bool]
EXECUTORS: dict[type[cst.CSTNode], Executor] = {}


def executes(*types: type[cst.CSTNode]) -> Callable[[Executor], Executor]:
    """Register the executor of statements of such types; it returns whether they fall through."""

    def register(executor: Executor) -> Executor:
        for node_type in types:
            EXECUTORS[node_type] = executor
        return executor

    return register


def run(frame: Frame, body: Sequence[cst.CSTNode]) -> bool:
    """Execute statements in order; return whether the end is reached."""
    opened = len(frame.guards)
    falls_through = True
    frame.blocks.append((body, 0))
    for index, statement in enumerate(body):
        frame.blocks[-1] = (body, index)
        if not execute(frame, statement):
            falls_through = False
            break
    frame.blocks.pop()
    del frame.guards[opened:]
    return falls_through


def execute(frame: Frame, node: cst.CSTNode) -> bool:
    """Execute one statement."""
    executor = EXECUTORS.get(type(node))
    if executor is None or frame.depth > MAX_DEPTH:
        return True
    frame.depth += 1
    outer = frame.statement
    frame.statement = node
    result = executor(frame, node)
    frame.statement = outer
    frame.depth -= 1
    return result


def suite(frame: Frame, body: cst.BaseSuite) -> bool:
    """Execute an indented or one-line suite."""
    return run(frame, body.body)


# ---- simple statements


@executes(cst.SimpleStatementLine)
def line(frame: Frame, node: cst.SimpleStatementLine) -> bool:
    """One line, of several small statements."""
    return run(frame, node.body)


@executes(cst.Expr)
def expression(frame: Frame, node: cst.Expr) -> bool:
    """An expression for its effect."""
    evaluate(frame, node.value)
    return True


@executes(cst.Assign)
def assign(frame: Frame, node: cst.Assign) -> bool:
    """`a = b = value`."""
    value = evaluate(frame, node.value)
    if type(node.value) is cst.Call:
        value = loops.note_update(frame, node, node.value, value)
    guards.remember(frame, node.targets[0].target, node.value)
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
    moves = called and node.func.attr.value in _MOVES  # type: ignore[attr-defined]
    return bool(moves) and node.func.value.deep_equals(owner)  # type: ignore[attr-defined]


_MOVES = frozenset({"to", "cuda", "cpu"})


@executes(cst.AnnAssign)
def annotated(frame: Frame, node: cst.AnnAssign) -> bool:
    """`a: T = value`: what the value says, else what the annotation says."""
    if node.value is None:
        return True
    value = evaluate(frame, node.value)
    if value.kind == UNKNOWN:
        declared = type_value(frame, node.annotation.annotation)
        if declared.kind != UNKNOWN:
            value = declared._replace(params=value.params)
    guards.remember(frame, node.target, node.value)
    store(frame, node.target, value)
    return True


@executes(cst.AugAssign)
def augmented(frame: Frame, node: cst.AugAssign) -> bool:
    """`a += value`."""
    before = evaluate(frame, node.target)
    value = evaluate(frame, node.value)
    result = combine(before, value)
    scaled = type(node.operator) in (cst.DivideAssign, cst.MultiplyAssign)
    if scaled and result.kind == UNKNOWN and before.kind == HOST and not before.name:
        result = result._replace(name=ANSWER)  # a number, whatever its name suggests
    store(frame, node.target, result)
    return True


def store(frame: Frame, target: Any, value: Value) -> None:
    """Assign to any target; writing into a device value may itself block."""
    if type(target) in SEQUENCES and any(type(e.value) is not cst.Name for e in target.elements):
        from asyncguard.lint.expressions import unpacked

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
    frame.bind(path, value)
    frame.give(path, value)


def _store_item(frame: Frame, target: cst.Subscript, value: Value) -> None:
    owner = evaluate(frame, target.value)
    indices = [index_value(frame, element.slice) for element in target.slice]
    if owner.kind == UNKNOWN and value.kind == DEVICE:
        chosen_by = zip(target.slice, indices, strict=True)
        if any(
            (i.kind == HOST_ARRAY and i.framework == value.framework)
            or index_cost(frame, e.slice, i) == MASK_INDEX
            for e, i in chosen_by
        ):  # through which no array in host memory is written what is on the device
            owner = weaken(device(value.framework, value.confidence, owner.params), MEDIUM)
    named = any(isinstance(index.literal, str) for index in indices)  # an entry of a mapping
    if owner.kind == DEVICE:
        _write_sites(frame, target, owner, indices, value)
        path = dotted(target.value) if named and len(indices) == 1 else ""
        if path:
            frame.note(f"{path}.{indices[0].literal}", value)
        return
    if owner.kind == HOST_ARRAY and value.kind == DEVICE and not named:
        known = frame.analysis.knowledge.frameworks.get(value.framework)
        if known is None or known.asynchronous_cpu:  # which has no host arrays but NumPy's
            protocol_site(frame, "__array__", target, value)
        elif (
            value.framework == owner.framework
            and owner.name != BATCH
            and all(index.kind == HOST for index in indices)  # through an array it must be there
        ):
            operator_site(frame, "device-write", target, value)
        return
    path = dotted(target.value)
    if not path:
        return
    key = indices[0].literal if len(indices) == 1 else None
    if owner.kind == CONTAINER:
        element = value if owner.element is None else join(owner.element, value)
        if owner.element is not None and owner.element.kind == HOST_ARRAY != value.kind:
            element = element._replace(name=WHEREVER)  # they are moved one by one
        fields = dict(owner.fields)
        if isinstance(key, str):
            fields[key] = value
        frame.bind(path, owner._replace(element=element, items=None, fields=tuple(fields.items())))
    if isinstance(key, str):
        frame.note(f"{path}.{key}", value)
        frame.give(path, Value(CONTAINER, name=DICT, element=value, fields=((key, value),)))


def _write_sites(
    frame: Frame, target: cst.Subscript, owner: Value, indices: list[Value], value: Value
) -> None:
    """Note what writing into a device value costs: by mask, by index, from the host."""
    costs = {index_cost(frame, e.slice, i) for e, i in zip(target.slice, indices, strict=True)}
    if UPLOADED_INDEX in costs and MASK_INDEX not in costs:
        operator_site(frame, "index-upload", target, owner)
    elif MASK_INDEX in costs and value.kind in (DEVICE, HOST):
        operator = "mask-write" if value.kind == DEVICE else "mask-fill"
        operator_site(frame, operator, target, owner)
    elif DEVICE_INDEX in costs and MASK_INDEX not in costs and value.kind == HOST:
        operator_site(frame, "scalar-write", target, owner)
    elif value.kind == HOST_ARRAY and _is_written(frame, owner, indices, value):
        operator_site(frame, "host-write", target, weaken(owner, value.confidence))


def _is_written(frame: Frame, owner: Value, indices: list[Value], value: Value) -> bool:
    """Whether an array in host memory is copied into a device value, which is no dict or list.

    One element of many dimensions is given a number.
    """
    known = frame.analysis.knowledge.frameworks[owner.framework]
    copied = value.framework == owner.framework or known.asynchronous_cpu
    entry = any(isinstance(index.literal, str) for index in indices)
    points = all(i.kind == HOST and i.name not in ("slice", "None") for i in indices)
    number = points and len(indices) > 2
    return copied and not (entry or number) and owner.name not in (STRUCTURE, HINTED, WHEREVER)


@executes(cst.Return)
def return_(frame: Frame, node: cst.Return) -> bool:
    """A return ends the path."""
    value = evaluate(frame, node.value) if node.value is not None else HOST_VALUE
    frame.returns.append(value)
    return False


@executes(cst.Raise)
def raise_(frame: Frame, node: cst.Raise) -> bool:
    """A raise ends the path, and happens once if ever."""
    if node.exc is not None:
        with frame.guarded(Guard(len(frame.loops), True)):
            evaluate(frame, node.exc)
    return False


@executes(cst.Break, cst.Continue)
def leave(frame: Frame, node: cst.CSTNode) -> bool:
    """`break` and `continue` end the path; what they knew still holds after the loop."""
    return False


@executes(cst.Assert)
def assertion(frame: Frame, node: cst.Assert) -> bool:
    """An assertion reads its test; its message only when it fails."""
    truth(frame, node.test)
    narrow(frame, node.test, True)
    if node.msg is not None:
        with frame.guarded(Guard(len(frame.loops), True)):
            evaluate(frame, node.msg)
    return True


@executes(cst.Del)
def delete(frame: Frame, node: cst.Del) -> bool:
    """A deleted name is no longer known."""
    if path := dotted(node.target):
        frame.env.pop(path, None)
    return True


@executes(cst.Global, cst.Nonlocal)
def declaration(frame: Frame, node: cst.Global | cst.Nonlocal) -> bool:
    """Names that belong to an outer scope."""
    if type(node) is cst.Global:
        frame.globals.update(item.name.value for item in node.names)
    return True


@executes(cst.Import)
def import_(frame: Frame, node: cst.Import) -> bool:
    """`import a.b as c`."""
    frame.analysis.bind_import(frame, node)
    return True


@executes(cst.ImportFrom)
def import_from(frame: Frame, node: cst.ImportFrom) -> bool:
    """`from a import b as c`, `from a import *`."""
    frame.analysis.bind_import_from(frame, node)
    return True


@executes(cst.FunctionDef)
def function(frame: Frame, node: cst.FunctionDef) -> bool:
    """A definition; its body is analysed later, with everything around it known."""
    frame.analysis.define_function(frame, node)
    return True


@executes(cst.ClassDef)
def class_(frame: Frame, node: cst.ClassDef) -> bool:
    """A class definition."""
    frame.analysis.define_class(frame, node)
    return True


# ---- compound statements


@executes(cst.If)
def if_(frame: Frame, node: cst.If) -> bool:
    """Both branches run; a rare one under a guard."""
    before_test = len(frame.sites)
    truth(frame, node.test)
    asked = any(site.point.kind == SyncKind.TRUTH for site in frame.sites[before_test:])
    guard_true, guard_false = guards.guard_of(frame, node.test)
    lasting = guards.leaves_loop(node.body) or guards.fills_in(node) or guards.is_once(node)
    rarely = guards.exits(node.body)  # the loops in it have as many steps as others
    if guard_true is None:
        rarely = rarely or guards.is_period(node) or guards.improves(node)
    if lasting or rarely:
        guard_true = Guard(len(frame.loops), lasting)
    elif guard_true is None:
        guard_true = guards.fills_first(frame, node)
    periodic = guard_true is not None and not guard_true.lasting and not guards.is_point(node.test)
    if periodic and _trains(frame, node):
        guard_true = None  # every n-th round is the step
    if (type(node.orelse) is cst.Else and guards.raises(node.orelse.body)) or guards.recalls(node):
        guard_false = Guard(len(frame.loops), True)
    before = dict(frame.env)
    narrow(frame, node.test, True)
    frame.findings += asked
    last = frame.last_choice is node
    left_out = asked_for(frame, node.test, cst.Is)
    with frame.guarded(guard_true, left_out):
        then_falls = suite(frame, node.body)
    frame.findings -= asked
    after_then = frame.env
    frame.env = before
    narrow(frame, node.test, False)
    else_falls = True
    if node.orelse is not None:
        with frame.guarded(guard_false):
            if type(node.orelse) is cst.If:
                frame.last_choice = node.orelse if guards.chooses(node, node.orelse) else None
                else_falls = execute(frame, node.orelse)
            else:
                else_falls = suite(frame, node.orelse.body)
    moved = node.orelse is None and asks_whether_on_device(node.test)
    if then_falls and (last or moved):
        frame.env = after_then  # it is one of the words that are asked for, or in host memory
    elif then_falls and else_falls:
        frame.env = merge(after_then, frame.env)
        if left_out:  # what is made for it comes from the others without it
            path = dotted(node.test.left)  # type: ignore[attr-defined]
            value = frame.env[path]
            frame.env[path] = from_params(value, value.params | left_out)
    elif then_falls:
        frame.env = after_then
    leaves = not then_falls and node.orelse is None and not guards.raises(node.body)
    if leaves and guard_false is not None and not _is_step_after(frame, guard_false):
        frame.guards.append(guard_false)  # `if step % n: continue`: the rest is guarded
    return then_falls or else_falls


def _is_step_after(frame: Frame, guard: Guard) -> bool:
    """Whether what follows a statement is a training step: every n-th round is the step.

    Not asked within such a question.
    """
    if guard.lasting or frame.silent:
        return False
    body, index = frame.blocks[-1]
    evidence = _evidence_of(frame, lambda: run(frame, body[index + 1 :]))
    return evidence.strong or any(map(_names_training, body[index + 1 :]))


def _trains(frame: Frame, node: cst.If) -> bool:
    """Whether a branch runs a training step, outside loops of its own."""

    def branch() -> bool:
        narrow(frame, node.test, True)
        return suite(frame, node.body)

    evidence = _evidence_of(frame, branch)
    asks = evidence.strong and not evidence.updates
    trains = evidence.strong and not (asks and any(map(loops.evaluates, walk(node.body))))
    return (trains and not _drops_state(frame, node.body)) or _names_training(node.body)


def _drops_state(frame: Frame, body: cst.CSTNode) -> bool:
    """Whether the state that a step gives is dropped, where one hands it on: it only evaluates."""
    if not frame.analysis.knowledge.functional_of(frame.analysis.frameworks):
        return False
    return any(_drops(n) for n in walk(body) if type(n) is cst.Assign)


_STATE = naming(r"(^|[._])(state|params|agent)$")


def _drops(node: cst.Assign) -> bool:
    """Whether this is `_, info = update(state, batch)`."""
    target, call = node.targets[0].target, node.value
    if type(target) is not cst.Tuple or type(call) is not cst.Call:
        return False
    taken = any(_STATE(dotted(argument.value)) for argument in call.args)
    return taken and dotted(target.elements[0].value) == "_"


def _evidence_of(frame: Frame, block: Callable[[], bool]) -> LoopRecord:
    """Return what a block would be evidence of in a loop of its own; nothing else comes of it."""
    before = dict(frame.env)
    with frame.quiet(), frame.fresh_evidence() as evidence:
        block()
    frame.env = before
    return evidence


def _names_training(node: cst.CSTNode) -> bool:
    if type(node) in (cst.For, cst.While):
        return False
    return loops.names_training(node) or any(map(_names_training, children(node)))


@executes(cst.For)
def for_(frame: Frame, node: cst.For) -> bool:
    """A loop over something: the first pass learns, the second notes."""
    iterable = builtin_calls.opened(frame, evaluate(frame, node.iter))
    if iterable.kind == DEVICE:
        protocol_site(frame, "__iter__", node.iter, iterable)
    element = builtin_calls.loop_element(frame, iterable)
    unsure = iterable.kind in (DEVICE, UNKNOWN, "loader")
    if unsure and loops.goes_over_keys(node.iter, node.target, node.body):
        iterable, element = UNKNOWN_VALUE, HOST_VALUE
    elif builtin_calls.source_of(iterable).kind == "loader" and loops.names_loader(node.target):
        iterable = element = UNKNOWN_VALUE  # several, each known by its name
    record = loops.for_record(frame, node, iterable)
    # A loop over a few device values (the losses of several devices) is part of one step.
    held = element.kind == DEVICE or iterable.name == PAIRS
    record.transparent |= iterable.kind == CONTAINER and held

    def body() -> bool:
        store(frame, node.target, element)
        return suite(frame, node.body)

    _loop(frame, record, body)
    if node.orelse is not None:
        suite(frame, node.orelse.body)
    return True


@executes(cst.While)
def while_(frame: Frame, node: cst.While) -> bool:
    """A `while` loop reads its test each time."""
    record = loops.while_record(node)

    def body() -> bool:
        truth(frame, node.test)
        narrow(frame, node.test, True)
        return suite(frame, node.body)

    _loop(frame, record, body)
    if node.orelse is not None:
        suite(frame, node.orelse.body)
    return True


def _loop(frame: Frame, record: LoopRecord, body: Callable[[], bool]) -> None:
    frame.loops.append(record)
    before = dict(frame.env)
    if not frame.silent:
        with frame.quiet():
            body()
            frame.env = merge(before, frame.env)
    body()
    frame.loops.pop()
    frame.env = merge(before, frame.env)
    if record.kind == Loop.NONE:
        if frame.loops:
            frame.loops[-1].ops |= record.ops
        return
    if record.over_steps or record.inner or record.epoch_name or _counts_steps(record):
        frame.contains_steps(trainings=record.strong or record.trainings)
        frame.step_loops = True
        frame.rounds |= record.updates
    else:
        frame.evidence()


def _counts_steps(record: LoopRecord) -> bool:
    """Whether a loop goes over so many steps by its name: `for i in range(max_iter)`."""
    iterable = record.node.iter if type(record.node) is cst.For else None
    counts = type(iterable) is cst.Call and dotted(iterable.func) == "range"
    return counts and record.step_name


@executes(cst.With)
def with_(frame: Frame, node: cst.With) -> bool:
    """A context manager: some record a graph, which makes the loop a training loop."""
    for item in node.items:
        value = evaluate(frame, item.item)
        if type(item.item) is cst.Call:
            name = evaluate_name(frame, item.item.func)
            if name and frame.analysis.knowledge.step_contexts.find(name):
                trains = not item.item.args or dotted(item.item.args[0].value) != "False"
                frame.evidence(strong=trains, asked=True)
        if item.asname is not None:
            store(frame, item.asname.name, value)
    return suite(frame, node.body)


def evaluate_name(frame: Frame, func: cst.BaseExpression) -> str:
    """Return the dotted name, imports resolved, of what is called, or ""."""
    with frame.quiet():
        value = evaluate(frame, func)
    return value.name if value.kind == SYMBOL else ""


@executes(cst.Try, cst.TryStar)
def try_(frame: Frame, node: cst.Try | cst.TryStar) -> bool:
    """Handlers start from what was known before or after the body, and are rare."""
    before = dict(frame.env)
    falls = suite(frame, node.body)
    if falls and node.orelse is not None:
        falls = suite(frame, node.orelse.body)
    after = frame.env
    ends = [after] if falls else []
    for handler in node.handlers:
        frame.env = merge(before, after)
        if handler.type is not None:
            evaluate(frame, handler.type)
        if handler.name is not None:
            bind_target(frame, handler.name.name, UNKNOWN_VALUE)
        with frame.guarded(Guard(len(frame.loops), True)):
            if suite(frame, handler.body):
                ends.append(frame.env)
    frame.env = ends[0] if ends else merge(before, after)
    for env in ends[1:]:
        frame.env = merge(frame.env, env)
    if node.finalbody is not None and not suite(frame, node.finalbody.body):
        return False
    return bool(ends)


@executes(cst.Match)
def match(frame: Frame, node: cst.Match) -> bool:
    """Each case is one more branch; names it captures are elements of the subject."""
    subject = evaluate(frame, node.subject)
    before = frame.env
    ends: list[dict[str, Value]] = [dict(before)]
    for case in node.cases:
        frame.env = dict(before)
        for name in _captures(case.pattern):
            frame.env[name] = element_of(frame, subject) if subject.kind == CONTAINER else subject
        if case.guard is not None:
            truth(frame, case.guard)
        if suite(frame, case.body):
            ends.append(frame.env)
    frame.env = ends[0]
    for env in ends[1:]:
        frame.env = merge(frame.env, env)
    return True


def _captures(pattern: cst.CSTNode) -> list[str]:
    return [
        node.name.value
        for node in walk(pattern)
        if isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None
    ]
