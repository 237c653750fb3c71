"""Python synchronizes the whole device in every step.

`waitall`, `torch.cuda.synchronize` and `dist.barrier` wait for everything, so Python can never
run ahead of the device. Code that measures needs a barrier next to the clock, and is left alone;
a training that reads a clock in every step is slowed down by it, and is told so.

Before:

    for x, y in loader:
        step(x, y)
        torch.cuda.synchronize()

After:

    for x, y in loader:
        step(x, y)
    torch.cuda.synchronize()

Reference: https://docs.pytorch.org/docs/stable/generated/torch.cuda.synchronize.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.registry import MXNET_STEP, TORCH_STEP, Example
from asyncguard.lint.report.timing import barriers

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG202"
NAME = "barrier-in-loop"
MESSAGE = "`{site}` synchronizes the whole device {when}"
REMEDY = "wait once after the loop, or for the one value that you need"
VALID = [
    TORCH_STEP + "pass\n    torch.cuda.synchronize()\n",
    """\
import time
import torch
def process(model, images):
    for x in images:
        torch.cuda.synchronize()
        y = model(x) * 2
        torch.cuda.synchronize()
        done = time.perf_counter()
""",
    """\
import tensorflow as tf
def evaluate(test_step, datasets):
    for dataset in datasets:
        with tf.experimental.async_scope():
            for step in range(100):
                outputs.append(test_step(dataset))
        tf.concat(outputs, axis=0)
""",
]
INVALID = [
    Example(
        TORCH_STEP + "torch.cuda.synchronize()\n",
        fixed=TORCH_STEP.rstrip(" ") + "    torch.cuda.synchronize()\n",
        safe=False,
    ),
    MXNET_STEP + "npx.waitall()",
    TORCH_STEP + "torch.distributed.barrier()",
    """\
import torch
import torch.nn.functional as F
import time
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        start = time.perf_counter()
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each such site that is no part of a measurement."""
    return barriers(analysis, CODE, f"{MESSAGE}: {REMEDY}")
