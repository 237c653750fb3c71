"""A condition needs a device value each step.

`if`, `while`, `assert`, `and`, `or`, `not`, `in`, `bool()` and Python's `max`, `min` and
`sorted` need the value before Python can go on, so Python waits for it.

Before:

    for x, y in loader:
        loss = step(x, y)
        if torch.isnan(loss):                  # waits in every step
            raise RuntimeError("loss is NaN")

After:

    for i, (x, y) in enumerate(loader):
        loss = step(x, y)
        bad |= torch.isnan(loss)               # stays on the device
        if i % 100 == 0 and bad:               # waits in one step of a hundred
            raise RuntimeError("loss is NaN")

Reference: https://docs.nvidia.com/dl-cuda-graph/latest/torch-cuda-graph/sync-free-code.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.reports import report_all

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG104"
NAME = "truth-test"
MESSAGE = (
    "`{site}` makes Python decide by a device value, so it waits for the device "
    "{when}: keep the decision on the device (`where`, `clamp`), or test every N "
    "steps"
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
        if loss is not None and loss.shape:
            pass
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses = [loss]
        if losses:
            pass
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 10 == 0 and torch.isnan(loss):
            raise ValueError
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        worst = torch.max(loss, loss)
""",
]
INVALID = [
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if torch.isnan(loss):
            raise ValueError
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        assert loss > 0
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        while loss > 1:
            loss = loss / 2
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        best = max(loss, loss * 2)
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        ok = bool(loss > 0)
""",
    """\
from mxnet import autograd, gluon, npx
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        if loss.mean() > 3:
            break
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
        if loss > 3:
            break
""",
    """\
import tensorflow as tf
def train(model, dataset, optimizer, loss_fn):
    for step, (x, y) in enumerate(dataset):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        if loss > 3:
            break
""",
    """\
import cupy as cp
def run(n):
    x = cp.ones((8, 8))
    for step in range(n):
        x = x @ x
        if x.max() > 3:
            break
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each such site."""
    return report_all(analysis, CODE, MESSAGE)
