"""Accumulating a loss keeps the autograd graph of every step alive.

A loss remembers every operation, and so every buffer, that led to it. Summed up or kept in a list
as it is, it keeps the graph of each step alive: memory grows until the run dies. Keep the detached
value: it has the number alone. (A backward pass frees most buffers; the nodes stay.)

Before:

    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward()
        total += loss                          # and the graph of every step

After:

    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward()
        total += loss.detach()

Reference: https://docs.pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from asyncguard.catalogue import Graph
from asyncguard.lint.domain.hotness import IN_STEP
from asyncguard.lint.domain.reasons import HIGH
from asyncguard.lint.report.fixes.graphs import Kept, graph_loops
from asyncguard.lint.report.registry import TORCH_SUM, Example
from asyncguard.lint.report.reports import Report
from asyncguard.model import Applicability, Edit, Fix

if TYPE_CHECKING:
    from asyncguard.lint.domain.definitions import FunctionInfo
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Source
    from asyncguard.lint.syntax.unit import Place

CODE = "ASG403"
NAME = "graph-kept-alive"
MESSAGE = (
    "`{into}` keeps the graph of `{name}` alive, step after step, so memory grows: add "
    "`{name}{detach}`"
)
VALID = [
    """\
import torch
def train(model, subnets, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        losses = []
        for subnet in subnets:
            loss = model(x, y, subnet)
            losses.append(loss)
            loss.backward()
        optimizer.step()
        print(sum(losses) / len(losses))
""",
    TORCH_SUM + "        total += loss.detach()\n",
    """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = 0
        for head in heads:
            loss += head(x, y)
        loss.backward()
""",
    TORCH_SUM + "        loss = loss.item()\n        total += loss\n",
    TORCH_SUM + "        with torch.no_grad():\n            total += loss\n",
    """\
import torch
def train(model, episodes, optimizer):
    for episode in episodes:
        losses = []
        for x in episode:
            losses.append(model(x))
        torch.stack(losses).sum().backward()
""",
    """\
from mxnet import autograd
def train(net, loader, trainer, loss_fn):
    total = 0
    for X, y in loader:
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        total += loss
""",
]
INVALID = [
    Example(
        TORCH_SUM + "        optimizer.step()\n        total += loss * len(x)\n",
        fixed=TORCH_SUM + "        optimizer.step()\n        total += loss.detach() * len(x)\n",
        safe=False,
    ),
    Example(
        """\
import torch
def train(model, loader, optimizer, scaler):
    losses = []
    for x, y in loader:
        first, second = model(x, y)
        loss = first + 0.5 * second
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        losses.append(second.mean())
""",
        fixed="""\
import torch
def train(model, loader, optimizer, scaler):
    losses = []
    for x, y in loader:
        first, second = model(x, y)
        loss = first + 0.5 * second
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        losses.append(second.detach().mean())
""",
        safe=False,
    ),
    """\
import torch
class Trainer:
    def fit(self, loader):
        for x, y in loader:
            loss = self.model(x, y)
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.total += loss
""",
    Example(
        """\
import chainer
def train(model, iterator, optimizer):
    total = 0
    for batch in iterator:
        loss = model(batch)
        loss.backward()
        optimizer.update()
        total = total + loss
""",
        fixed="""\
import chainer
def train(model, iterator, optimizer):
    total = 0
    for batch in iterator:
        loss = model(batch)
        loss.backward()
        optimizer.update()
        total = total + loss.array
""",
        safe=False,
    ),
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each statement of a training loop that keeps what hangs on the loop's graph."""
    for framework in analysis.frameworks:
        graph = analysis.knowledge.frameworks[framework].graph
        if graph is None:
            continue
        for info in analysis.reported:
            if info.marks_step and info.unit is not None:
                yield from _in_function(analysis, info, framework, graph)
        return


def _in_function(
    analysis: FileAnalysis, info: FunctionInfo, framework: str, graph: Graph
) -> Iterator[Report]:
    steps = analysis.knowledge.step_methods

    def is_backward(call: cst.Call) -> bool:
        func = call.func
        return type(func) is cst.Attribute and framework in steps.get(func.attr.value, ())

    for loop in graph_loops(info.node, is_backward, set(graph.keeps)):
        for kept in loop.kept():
            yield _report(kept, info, framework, graph.detach)


def _report(kept: Kept, info: FunctionInfo, framework: str, detach: str) -> Report:
    name = kept.tied[0].value
    message = MESSAGE.format(into=kept.into, name=name, detach=detach)
    report = Report(CODE, message, kept.statement, info, IN_STEP, HIGH, framework)
    report.advice = f"Accumulate `{name}{detach}`, which holds the number and not its history."
    report.extra_nodes = kept.tied

    def make(places: dict[int, Place], source: Source) -> Fix | None:
        found = [places[id(tied)] for tied in kept.tied if id(tied) in places]
        edits = tuple(Edit(place[2], place[3], place[2], place[3], detach) for place in found)
        return Fix("keep the value without its graph", edits, Applicability.UNSAFE)

    report.fix = make
    return report
