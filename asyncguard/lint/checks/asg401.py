"""A training loop never waits, on a backend that lets Python run ahead without bound.

Each operation that is enqueued and not yet executed keeps its arguments and its result alive. A
loop that reads nothing enqueues whole epochs in seconds, and memory grows until the run dies. One
read, or one wait, per minibatch keeps Python a step ahead, which is enough. (Where the launch
queue is bounded, as CUDA's is, there is no finding.)

Before:

    for X, y in loader:
        with autograd.record():
            l = loss(net(X), y)
        l.backward()
        trainer.step(batch_size)

After:

    for X, y in loader:
        with autograd.record():
            l = loss(net(X), y)
        l.backward()
        trainer.step(batch_size)
        l.wait_to_read()                       # at most one minibatch ahead

Reference: https://d2l.ai/chapter_computational-performance/async-computation.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from asyncguard.lint.domain.hotness import IN_STEP
from asyncguard.lint.domain.reasons import MEDIUM
from asyncguard.lint.domain.work import Work
from asyncguard.lint.report.may_block import Waits
from asyncguard.lint.report.reports import Report
from asyncguard.model import Loop

if TYPE_CHECKING:
    from asyncguard.lint.domain.definitions import Event, FunctionInfo
    from asyncguard.lint.domain.loops import LoopRecord
    from asyncguard.lint.modules.analysis import FileAnalysis

CODE = "ASG401"
NAME = "unbounded-queue"
MESSAGE = (
    "this loop enqueues training steps and never waits: the queue grows, and with it the memory "
    "that each pending operation holds; wait for one value (the loss) in each iteration"
)
_DEPTH = 4  # of calls that are followed
FEW = 100  # iterations that no memory is too small for
ADVICE = "Wait for the loss of each minibatch, or for that of the one before."
_LOOP = """\
from mxnet import autograd, gluon, npx
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        with autograd.record():
            l = loss_fn(net(X), y)
        l.backward()
        trainer.step(X.shape[0])
"""
VALID = [
    _LOOP + "        l.wait_to_read()\n",
    _LOOP + "        print(l.mean())\n",
    _LOOP + "        report(l)\n",
    _LOOP + "        if X.shape[0] % 10 == 0:\n            npx.waitall()\n",
    """\
from mxnet import autograd
def backward(losses):
    for loss in losses:
        loss.backward()
""",
    """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
""",
]
INVALID = [
    _LOOP,
    """\
from mxnet import autograd, gluon
net = gluon.nn.Dense(1)
trainer = gluon.Trainer(net.collect_params(), "sgd")
loss_fn = gluon.loss.L2Loss()
def one_step(X, y):
    with autograd.record():
        l = loss_fn(net(X), y)
    l.backward()
    trainer.step(X.shape[0])
def train(loader):
    for X, y in loader:
        one_step(X, y)
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each training loop on such a backend in which nothing may wait."""
    waits = Waits()
    for info in analysis.reported:
        for loop, framework in _training_loops(analysis, info):
            if waits.in_loop(info, loop) or not isinstance(loop.node, (cst.For, cst.While)):
                continue
            if _is_short(loop.node):
                continue
            head = loop.node.iter if isinstance(loop.node, cst.For) else loop.node.test
            report = Report(CODE, MESSAGE, head, info, IN_STEP, MEDIUM, framework)
            report.advice = ADVICE
            yield report


def _is_short(node: cst.For | cst.While) -> bool:
    """Whether a loop plainly runs a few times only: `for _ in range(10)`."""
    if type(node) is not cst.For or type(node.iter) is not cst.Call:
        return False
    last = node.iter.args[-1].value if node.iter.args else None
    return type(last) is cst.Integer and int(last.value, 0) <= FEW


def _training_loops(analysis: FileAnalysis, info: FunctionInfo) -> Iterator[tuple[LoopRecord, str]]:
    """Yield the function's own training loops whose work nothing bounds, with the framework."""
    if info.summary is None or info.compiled:
        return
    loops: dict[int, LoopRecord] = {}
    within: dict[int, list[Event]] = {}
    for event in info.summary.events:
        outermost = next((r for r in event.loops if r.kind == Loop.STEP), None)
        if outermost is not None:
            loops.setdefault(id(outermost), outermost)
        for loop in event.loops:
            within.setdefault(id(loop), []).append(event)
    for loop in loops.values():
        events = within[id(loop)]
        if not loop.work & Work.GRADIENTS or not _updates(analysis, events):
            continue
        owners = set(_frameworks(events))
        unbounded = [f for f in owners if analysis.knowledge.frameworks[f].unbounded_queue]
        if unbounded and len(owners) == 1:
            yield loop, unbounded[0]


def _updates(analysis: FileAnalysis, events: Iterable[Event]) -> bool:
    """Whether a loop runs an optimizer, and so is no loop over the parts of one step."""
    methods = analysis.knowledge.optimizer_methods
    return any(
        _method(event.node) in methods or (event.callee is not None and _trains(event.callee))
        for event in events
        if event.what in ("work", "call")
    )


def _trains(info: FunctionInfo) -> bool:
    return info.summary is not None and bool(info.summary.work & Work.GRADIENTS)


def _method(node: cst.CSTNode) -> str:
    """Return the name of the method that a call calls, or ""."""
    if type(node) is cst.Call and type(node.func) is cst.Attribute:
        return node.func.attr.value
    return ""


def _frameworks(events: Iterable[Event], depth: int = 0) -> Iterator[str]:
    """Yield whose work events enqueue, themselves or by what they call."""
    called: set[FunctionInfo] = set()
    for event in events:
        if event.what == "work":
            yield event.framework
        elif event.what == "call" and event.callee is not None and event.callee not in called:
            called.add(event.callee)
            if depth < _DEPTH and event.callee.summary is not None:
                yield from _frameworks(event.callee.summary.events, depth + 1)
