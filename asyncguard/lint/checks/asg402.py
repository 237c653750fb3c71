"""A clock is stopped while the work that it should measure is still queued.

Calling a model, or any operation on a device, returns once the work is enqueued. A clock read
right after it measures the enqueueing, often a hundredth of the true time. Wait for the work first.
No finding where something between the work and the clock waits, or may, where times are added up
or the steps of a training are timed (over many steps the queue fills, and its waits count), nor for
whole epochs, whose last step makes no difference.

Before:

    start = time.perf_counter()
    y = model(x)
    print(time.perf_counter() - start)         # the time to enqueue

After:

    start = time.perf_counter()
    y = model(x)
    torch.cuda.synchronize()
    print(time.perf_counter() - start)

Reference: https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from asyncguard.lint.domain.reasons import MEDIUM
from asyncguard.lint.report.may_block import waits_at
from asyncguard.lint.report.reports import Report
from asyncguard.lint.report.statement_order import index_in, suite, walk_own
from asyncguard.lint.syntax.tree import children, dotted, walk
from asyncguard.model import Loop, SyncKind

if TYPE_CHECKING:
    from asyncguard.lint.domain.definitions import FunctionInfo
    from asyncguard.lint.domain.effects import Event, LoopRecord
    from asyncguard.lint.knowledge import Knowledge
    from asyncguard.lint.modules.analysis import FileAnalysis

CODE = "ASG402"
NAME = "timing-without-sync"
MESSAGE = (
    "`{{site}}` stops the clock while the work of line {{lines}} may still be queued, so it "
    "measures the enqueueing: wait for the result first{barrier}"
)
VALID = [
    """\
import time
import jax
def main(runs, step, state):
    total = 0
    for run in runs:
        start = time.time()
        state = jax.jit(step)(state)
        end = time.time()
        total += end - start
""",
    """\
import time
import tensorflow as tf
@tf.function
def test(model, iterator):
    def step(x):
        start = time.time()
        y = model(x)
        print(time.time() - start)
    step(next(iterator))
""",
    """\
import time
import torch
def train_one_iter(model, x, optimizer):
    start = time.time()
    loss = model(x)
    loss.backward()
    optimizer.step()
    log(time.time() - start)
""",
    """\
import time
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        start = time.time()
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        writer.add_scalar("time", time.time() - start)
""",
    """\
import time
import jax
def restore(path):
    start = time.time()
    state = jax.tree_util.tree_map(lambda x: x or path, read(path))
    print(time.time() - start)
    return state
""",
    """\
import time
import jax
@jax.jit
def epoch(state):
    return state
def train(state):
    start = time.time()
    metrics = epoch(state)
    jax.tree_util.tree_map(lambda x: x.block_until_ready(), metrics)
    return time.time() - start
""",
    """\
import time
import torch
def measure(model, x):
    start = time.time()
    y = model(x)
    torch.cuda.synchronize()
    return time.time() - start
""",
    """\
import time
import torch
def measure(model, x):
    start = time.time()
    y = model(x).sum().item()
    return time.time() - start
""",
    """\
import time
import torch
def train(model, loader, optimizer):
    end = time.time()
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        meter.add(time.time() - end)
        end = time.time()
""",
    """\
import time
import torch
def measure(model):
    x = torch.randn(8, 3, 224, 224)
    start = time.time()
    y = model(x)
    return time.time() - start
""",
    """\
import time
from mxnet import np
def measure():
    start = time.time()
    y = np.dot(np.ones((9, 9)), np.ones((9, 9)))
    y.wait_to_read()
    return time.time() - start
""",
]
INVALID = [
    """\
import time
import torch
def measure(model, x):
    start = time.time()
    y = model(x)
    print(time.time() - start)
""",
    """\
from time import perf_counter
import torch
def measure(model, x):
    start = perf_counter()
    for _ in range(100):
        model(x)
    end = perf_counter()
    return end - start
""",
    """\
import time
from mxnet import np
def measure():
    x = np.ones((9, 9))
    start = time.time()
    y = np.dot(x, x)
    return time.time() - start
""",
    """\
import time
import jax
import jax.numpy as jnp
def measure(x):
    start = time.perf_counter()
    y = jnp.dot(x, x)
    elapsed = time.perf_counter() - start
""",
    """\
import time
import cupy as cp
def measure():
    x = cp.ones((9, 9))
    start = time.time()
    y = x @ x
    elapsed = time.time() - start
""",
]


class Stretch(NamedTuple):
    """Two clock reads of one measurement, and the list of statements that both stand in."""

    start: int
    stop: int
    clock: Event
    body: Sequence[cst.CSTNode]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each clock that is stopped while work is queued."""
    for info in analysis.reported:
        if info.summary is None or info.entered == Loop.STEP or _is_traced(info):
            continue
        for stretch in _stretches(info):
            work = _last_work(analysis.knowledge, info, stretch)
            if work is not None:
                yield _report(analysis.knowledge, info, stretch.clock, work)


def _is_traced(info: FunctionInfo) -> bool:
    """Whether a function is compiled, or part of one that is: its clocks run as it is traced."""
    while not info.compiled and info.closure is not None:
        info = info.closure.function
    return info.compiled


def _report(knowledge: Knowledge, info: FunctionInfo, clock: Event, work: Event) -> Report:
    wait = _wait_of(knowledge, work.framework)
    message = MESSAGE.format(barrier=f" (`{wait}`)" if wait else "")
    loop = next((r.kind for r in reversed(clock.loops) if r.kind != Loop.NONE), Loop.NONE)
    report = Report(CODE, message, clock.node, info, loop, False, MEDIUM, work.framework)
    report.extra_nodes = (work.node,)
    return report


def _wait_of(knowledge: Knowledge, framework: str) -> str:
    """Return a function of the framework that waits for work, one for a value if there is one."""
    rules = ("ASG201", "ASG202")
    found = [
        (rules.index(point.rule), point.source.functions[0])
        for point in knowledge.frameworks[framework].sync
        if point.rule in rules and point.source is not None and point.source.functions
        if point.waits_for in ("value", "device", "everything")
    ]
    return min(found, default=(0, ""), key=lambda pair: pair[0])[1]


def _stretches(info: FunctionInfo) -> Iterator[Stretch]:
    """Yield the measurements of a function: `t = clock()`, and `clock() - t` further down."""
    clocks = [event for event in info.summary.events if event.what == "clock"]
    if len(clocks) < 2:
        return
    differences = _differences(info)
    for clock in clocks:
        place = suite(clock.blocks)
        if place is None or any(_is_training(record) for record in clock.loops):
            continue
        body, stop = place
        if _adds_up(body[stop]):
            continue
        started = _started(differences, clock, body[stop])
        starts = [
            index
            for other in clocks
            if other is not clock and (index := index_in(other.blocks, body)) is not None
            if index < stop and started & _stored(body[index], other.node)
        ]
        if starts:
            yield Stretch(max(starts), stop, clock, body)


def _is_training(loop: LoopRecord) -> bool:
    """Whether a loop trains, or runs epochs."""
    return loop.strong or loop.acts or loop.epoch_name or loop.kind == Loop.EPOCH


def _adds_up(statement: cst.CSTNode) -> bool:
    """Whether a statement adds to a sum: over many steps the queue fills, and waits count too."""
    lines = statement.body if type(statement) is cst.SimpleStatementLine else ()
    return any(type(line) is cst.AugAssign for line in lines)


def _differences(info: FunctionInfo) -> list[cst.BinaryOperation]:
    """Return the subtractions of a function, but for those that are added to a sum."""
    own = list(walk_own(info.node))
    sums = {id(node.value) for node in own if type(node) is cst.AugAssign}
    return [
        node
        for node in own
        if type(node) is cst.BinaryOperation and type(node.operator) is cst.Subtract
        if id(node) not in sums
    ]


def _started(
    differences: list[cst.BinaryOperation], clock: Event, statement: cst.CSTNode
) -> set[str]:
    """Return the variables whose start this clock read is compared with."""
    ends = _stored(statement, clock.node)
    return {
        dotted(node.right)
        for node in differences
        if node.left is clock.node or (ends and dotted(node.left) in ends)
    } - {""}


def _stored(statement: cst.CSTNode, clock: cst.CSTNode) -> set[str]:
    """Return the variables that a statement assigns a clock's reading to."""
    return {
        dotted(target.target)
        for part in children(statement)
        if type(part) is cst.Assign and part.value is clock
        for target in part.targets
    } - {""}


def _last_work(knowledge: Knowledge, info: FunctionInfo, stretch: Stretch) -> Event | None:
    """Return the last work that is enqueued within a measurement, if nothing waits for it."""
    last: tuple[int, Event] | None = None
    for event in info.summary.events:
        index = index_in(event.blocks, stretch.body)
        if (
            index is None
            or not stretch.start < index < stretch.stop
            or not _is_work(knowledge, event)
        ):
            continue
        if any(r.over_steps or r.inner for r in event.loops[len(stretch.clock.loops) :]):
            return None  # a whole epoch: its last step makes no difference
        if last is None or index >= last[0]:
            last = index, event
    if last is None:
        return None
    if any(_names_a_wait(knowledge, s) for s in stretch.body[last[0] : stretch.stop + 1]):
        return None
    waits = waits_at(info, stretch.body)
    return None if any(last[0] <= index <= stretch.stop for index in waits) else last[1]


def _names_a_wait(knowledge: Knowledge, statement: cst.CSTNode) -> bool:
    """Whether code names a method that waits, be it in a lambda that something else calls."""
    methods = {
        method
        for (_, method), points in knowledge.sync_methods.items()
        if any(point.kind == SyncKind.BARRIER for point in points)
    }
    return any(type(n) is cst.Attribute and n.attr.value in methods for n in walk(statement))


def _is_work(knowledge: Knowledge, event: Event) -> bool:
    """Whether an event enqueues work worth measuring.

    A lone addition is none, but on an engine, nor is making an array; a function mapped over a tree
    may do anything.
    """
    if event.what != "work":
        return False
    framework = knowledge.frameworks[event.framework]
    if type(event.node) is cst.BinaryOperation:
        product = type(event.node.operator) is cst.MatrixMultiply
        return product or framework.unbounded_queue
    if type(event.node) is not cst.Call:
        return True
    called = dotted(event.node.func).rpartition(".")[2]
    maps = {name.rpartition(".")[2] for name in framework.tree_maps}
    return called not in maps and called not in framework.makes
