"""A device value is turned into text each step.

`print`, f-strings, `str`, `repr`, `format` and logging need the value's data, so Python waits
until the device has computed it, and everything queued before it.

Before:

    for x, y in loader:
        loss = step(x, y)
        print(f"loss {loss}")              # waits in every step

After:

    for i, (x, y) in enumerate(loader):
        loss = step(x, y)
        if i % 100 == 0:
            print(f"loss {loss.item()}")   # waits in one step of a hundred

Reference: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.reports import report_all

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG101"
NAME = "device-value-as-text"
MESSAGE = (
    "`{site}` needs the value as text and waits for the device {when}: print it every "
    "N steps, or once after the loop"
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
            print(loss)
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.shape, f"{len(loader)}")
""",
    """\
from mxnet import autograd, gluon, npx
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        print(X.shape)
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
        print(loss)
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"loss {loss:.3f}")
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print("loss %.3f" % loss)
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print("loss {:.3f}".format(loss))
""",
    """\
from mxnet import autograd, gluon, npx
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        print(loss)
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
        print(loss)
""",
    """\
import tensorflow as tf
def train(model, dataset, optimizer, loss_fn):
    for step, (x, y) in enumerate(dataset):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        print(loss)
""",
    """\
import cupy as cp
def run(n):
    x = cp.ones((8, 8))
    for step in range(n):
        x = x @ x
        print(x)
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each such site."""
    return report_all(analysis, CODE, MESSAGE)
