"""A number is read in every step only to be added up, or collected, on the host.

The sum can be kept where its terms are: adding on the device is one more small operation in the
queue, and one read after the loop gives the total. Off by default: ASG102 reports the read and
takes its advice from here. The repair sums in double precision, as Python does, where the framework
has that type.

Before:

    total = 0.0
    for x, y in loader:
        loss = step(x, y)
        total += loss.item()                   # waits in every step
    print(total / len(loader))

After:

    total = 0.0
    for x, y in loader:
        loss = step(x, y)
        total += loss.detach().double()        # stays on the device
    total = float(total)                       # waits once
    print(total / len(loader))

Reference: https://docs.pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.host_sums import host_sum
from asyncguard.lint.report.indices import Indices
from asyncguard.lint.report.registry import TORCH_SUM, Example
from asyncguard.lint.report.reports import report_site

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG302"
NAME = "host-accumulator"
DEFAULT = False
REFINES = ("ASG102",)
SUM = (
    "`{{site}}` waits {{when}} only to be added to `{name}`, which is not needed before {needed}: "
    "add the value on the device{detached} and read `{name}` once there"
)
COLLECTED = (
    "`{{site}}` waits {{when}} only to be kept in `{name}`, which is not needed before {needed}: "
    "keep the value on the device{detached}, stack and read them once there"
)
VALID = [
    TORCH_SUM
    + """\
        optimizer.step()
        total += loss.item()
        if total > 100:
            break
    return total
""",
    TORCH_SUM
    + """\
        optimizer.step()
        total += loss.detach()
    return total.item()
""",
    """\
from mxnet import autograd
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        total = 0
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        total += loss.mean().asscalar()
        print(total)
""",
]
INVALID = [
    Example(
        TORCH_SUM
        + """\
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader)
""",
        fixed=TORCH_SUM
        + """\
        optimizer.step()
        total += loss.detach().double() * len(x)
    total = float(total)
    return total / len(loader)
""",
        safe=False,
    ),
    Example(
        """\
import torch
def train(model, loader, optimizer):
    correct = 0
    for x, y in loader:
        out = model(x)
        correct += (out.argmax(1) == y).sum().item()
    return correct
""",
        fixed="""\
import torch
def train(model, loader, optimizer):
    correct = 0
    for x, y in loader:
        out = model(x)
        correct += (out.argmax(1) == y).sum()
    correct = int(correct)
    return correct
""",
        safe=False,
    ),
    Example(
        TORCH_SUM + "        total = total + float(loss)\n    return total\n",
        fixed=TORCH_SUM
        + """\
        total = total + loss.detach().double()
    total = float(total)
    return total
""",
        safe=False,
    ),
    """\
import torch
def train(model, loader, optimizer):
    running = 0.0
    for step, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward()
        running += loss.item()
        if step % 100 == 99:
            print(running / 100)
            running = 0.0
""",
    """\
import torch
def train(model, loader, optimizer):
    losses = []
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        losses.append(loss.item())
    return losses
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
        total += loss.mean().asscalar()
    return total
""",
    """\
import jax
import jax.numpy as jnp
@jax.jit
def update(params, batch):
    return params, jnp.mean(batch)
def train(params, loader):
    total = 0.0
    for batch in loader:
        params, loss = update(params, batch)
        total += float(loss)
    return total
""",
    """\
import tensorflow as tf
def train(model, dataset, optimizer, loss_fn):
    total = 0.0
    for x, y in dataset:
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        total += float(loss)
    return total
""",
    """\
import cupy as cp
def run(n):
    x = cp.ones((8, 8))
    total = 0.0
    for step in range(n):
        x = x @ x
        total += float(x.sum())
    return total
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each read that goes straight into a sum or list of no use in the loop."""
    frameworks = analysis.knowledge.frameworks
    indices = Indices()
    for site in analysis.sites:
        found = host_sum(site, indices)
        if found is None:
            continue
        graph = frameworks[site.point.framework].graph
        message = (SUM if found.adds else COLLECTED).format(
            name=found.name,
            needed="the periodic report" if found.gated else "the loop is over",
            detached=f" (`{graph.detach}`)" if graph else "",
        )
        yield report_site(site, CODE, message)
