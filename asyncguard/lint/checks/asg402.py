"""A timer stops before the device has finished: it measures the launch, not the work.

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

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import libcst as cst

from asyncguard.lint.domain.hotness import Context
from asyncguard.lint.domain.reasons import MEDIUM
from asyncguard.lint.report.may_block import Waits
from asyncguard.lint.report.measurements import Measurements
from asyncguard.lint.report.reports import Report
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Loop, SyncKind

if TYPE_CHECKING:
    from asyncguard.lint.domain.definitions import Event, FunctionInfo
    from asyncguard.lint.knowledge import Knowledge
    from asyncguard.lint.modules.analysis import FileAnalysis

CODE = "ASG402"
NAME = "timing-without-sync"
MESSAGE = (
    "`{{site}}` stops the timer before the device has finished the work of {{lines}}: you are "
    "timing the launch, not the work; wait for the result first{barrier}"
)
MEASURE = """\
import time
import torch
def measure(model, x):
    start = time.time()
"""
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
    MEASURE + "    y = model(x)\n    torch.cuda.synchronize()\n    return time.time() - start\n",
    MEASURE + "    y = model(x).sum().item()\n    return time.time() - start\n",
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
    MEASURE + "    y = model(x)\n    print(time.time() - start)\n",
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


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each clock that is stopped while work is queued."""
    knowledge, waits = analysis.knowledge, Waits()
    waiting = _waiting_methods(knowledge)
    for info in analysis.reported:
        if info.summary is None or analysis.entered(info) == Loop.STEP or _is_traced(info):
            continue
        measured = Measurements(info, partial(_is_work, knowledge), waiting, waits)
        for stretch in measured.stretches():
            work = measured.last_work(stretch)
            if work is not None:
                yield _report(knowledge, info, stretch.clock, work)


def _is_traced(info: FunctionInfo) -> bool:
    """Whether a function is compiled, or part of one that is: its clocks run as it is traced."""
    while not info.compiled and info.closure is not None:
        info = info.closure.function
    return info.compiled


def _report(knowledge: Knowledge, info: FunctionInfo, clock: Event, work: Event) -> Report:
    wait = _wait_of(knowledge, work.framework)
    message = MESSAGE.format(barrier=f" (`{wait}`)" if wait else "")
    loop = next((r.kind for r in reversed(clock.loops) if r.kind != Loop.NONE), Loop.NONE)
    report = Report(CODE, message, clock.node, info, Context(loop), MEDIUM, work.framework)
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


@lru_cache(1)
def _waiting_methods(knowledge: Knowledge) -> set[str]:
    """Return the names of the methods that wait."""
    return {
        method
        for (_, method), points in knowledge.sync_methods.items()
        if any(point.kind == SyncKind.BARRIER for point in points)
    }


def _is_work(knowledge: Knowledge, event: Event) -> bool:
    """Whether an event enqueues work worth measuring.

    A lone addition is none, but on an engine, nor is making an array; a function mapped over a tree
    may do anything.
    """
    if event.what != "work":
        return False
    framework = knowledge.frameworks[event.framework]
    if framework.measured:
        return False
    if type(event.node) is cst.BinaryOperation:
        product = type(event.node.operator) is cst.MatrixMultiply
        return product or framework.unbounded_queue
    if type(event.node) is not cst.Call:
        return True
    called = dotted(event.node.func).rpartition(".")[2]
    maps = {name.rpartition(".")[2] for name in framework.tree_maps}
    return called not in maps and called not in framework.makes
