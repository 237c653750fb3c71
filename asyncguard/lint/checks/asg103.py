"""A device array is copied to the host each step.

`.asnumpy()`, `.numpy()`, `.cpu()`, `np.asarray(t)`, `jax.device_get` and CuPy's `.get()` wait
until the array is computed, then copy all of it.

Before:

    for x in loader:
        outputs.append(model(x).cpu().numpy())     # waits in every step

After:

    for x in loader:
        outputs.append(model(x))                   # stays on the device
    outputs = torch.cat(outputs).cpu().numpy()     # one copy

Where the outputs do not fit on the device, copy them a few steps late.

Reference: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cpu.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.reports import report_all

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG103"
NAME = "host-array-conversion"
MESSAGE = (
    "`{site}` copies an array to the host and waits for the device {when}: collect on "
    "the device and copy once after the loop"
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
        outputs.append(loss.detach())
""",
    """\
import torch
class Data(torch.utils.data.Dataset):
    def __getitem__(self, i):
        return torch.from_numpy(self.rows[i]).numpy()
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
        kept.append(loss.detach().cpu().numpy())
""",
    """\
from mxnet import autograd, gluon, npx
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        kept.append(loss.asnumpy())
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
        kept.append(np.asarray(loss))
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
        kept.append(jax.device_get(loss))
""",
    """\
import tensorflow as tf
def train(model, dataset, optimizer, loss_fn):
    for step, (x, y) in enumerate(dataset):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        kept.append(loss.numpy())
""",
    """\
import cupy as cp
def run(n):
    x = cp.ones((8, 8))
    for step in range(n):
        x = x @ x
        kept.append(x.get())
""",
    """\
import cupy as cp
def run(n):
    x = cp.ones((8, 8))
    for step in range(n):
        x = x @ x
        kept.append(cp.asnumpy(x))
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each such site."""
    return report_all(analysis, CODE, MESSAGE)
