"""Copying a scalar to the host waits in every step.

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

from asyncguard.lint.report.registry import (
    CUPY_STEP,
    JAX_STEP,
    MXNET_STEP,
    TENSORFLOW_STEP,
    TORCH_STEP,
    Example,
)

CODE = "ASG102"
NAME = "scalar-conversion"
MESSAGE = "`{site}` copies a scalar to the host and blocks until the device catches up {when}"
REMEDY = "accumulate on the device; read every N steps or after the loop"
VALID = [
    TORCH_STEP + "if step % 100 == 0:\n            log(loss.item())\n",
    """\
import torch
import numpy as np
def f(rows):
    for row in rows:
        print(np.sum(row).item())
""",
    TORCH_STEP + "history.append(loss.detach())",
    MXNET_STEP + "n = float(X.shape[0])",
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
    TORCH_STEP + "total = loss.item()",
    TORCH_STEP + "total = float(loss)",
    TORCH_STEP + "log(loss.detach().tolist())",
    MXNET_STEP + "total = loss.mean().asscalar()",
    MXNET_STEP + "total = float(loss.sum())",
    JAX_STEP + "total = float(loss)",
    TENSORFLOW_STEP + "total = float(loss)",
    CUPY_STEP + "total = float(x.sum())",
    CUPY_STEP + "total = x.sum().item()",
]
