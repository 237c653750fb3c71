"""A number is read back from the device each step.

`.item()`, `.asscalar()`, `.tolist()`, `float()`, `int()` copy the value to the host. The copy
waits for the value, and so for all work queued before it; the device then idles until Python
has queued more.

Before:

    for x, y in loader:
        loss = step(x, y)
        total += loss.item()         # waits in every step

After:

    total = torch.zeros((), device=device)
    for x, y in loader:
        loss = step(x, y)
        total += loss.detach()       # stays on the device
    print(total.item())              # waits once

Reference: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.fixes.sink_into_guard import into_gate
from asyncguard.lint.report.registry import Example
from asyncguard.lint.report.reports import report_site, sites_of

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG102"
NAME = "scalar-conversion"
MESSAGE = (
    "`{site}` reads a number back and waits for the device {when}: keep it there "
    "(detached) and read it every N steps, or once after the loop"
)
VALID = [
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            log(loss.item())
""",
    """\
import torch
import numpy as np
def f(rows):
    for row in rows:
        print(np.sum(row).item())
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss.detach())
""",
    """\
from mxnet import autograd, gluon, npx
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        n = float(X.shape[0])
""",
]
INVALID = [
    Example(
        """\
import torch
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward()
        value = loss.item()
        optimizer.step()
        if step % 100 == 0:
            print(step)
            print(value)
""",
        fixed="""\
import torch
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            value = loss.item()
            print(step)
            print(value)
""",
        safe=False,
    ),
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total = loss.item()
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total = float(loss)
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        log(loss.detach().tolist())
""",
    """\
from mxnet import autograd, gluon, npx
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        total = loss.mean().asscalar()
""",
    """\
from mxnet import autograd, gluon, npx
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        total = float(loss.sum())
""",
    """\
import jax
import jax.numpy as jnp
import numpy as np
@jax.jit
def update(params, batch):
    return params, jnp.mean(batch)
def train(params, loader):
    for step, batch in enumerate(loader):
        params, loss = update(params, batch)
        total = float(loss)
""",
    """\
import tensorflow as tf
def train(model, dataset, optimizer, loss_fn):
    for step, (x, y) in enumerate(dataset):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        total = float(loss)
""",
    """\
import cupy as cp
def run(n):
    x = cp.ones((8, 8))
    for step in range(n):
        x = x @ x
        total = float(x.sum())
""",
    """\
import cupy as cp
def run(n):
    x = cp.ones((8, 8))
    for step in range(n):
        x = x @ x
        total = x.sum().item()
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each such site; a read of use only now and then can move to its use."""
    for site in sites_of(analysis, CODE):
        report = report_site(site, CODE, MESSAGE)
        if found := into_gate(site):
            report.fix, report.extra_nodes = found
        yield report
