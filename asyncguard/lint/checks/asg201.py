"""Python blocks on one value in every step.

`wait_to_read`, `block_until_ready`, `event.synchronize` and `work.wait` wait explicitly. Once
every few steps bounds the queue as well, at a fraction of the cost.

Before:

    for x, y in loader:
        loss = step(x, y)
        loss.wait_to_read()

After:

    for i, (x, y) in enumerate(loader):
        loss = step(x, y)
        if i % 16 == 0:
            loss.wait_to_read()     # keeps the queue short

Reference: https://d2l.ai/chapter_computational-performance/async-computation.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.registry import JAX_STEP, TORCH_STEP
from asyncguard.lint.report.timing import barriers

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG201"
NAME = "wait-each-iteration"
MESSAGE = "`{site}` blocks on one value {when}"
REMEDY = "wait once after the loop, or every N steps where the queue must stay short"
VALID = [
    """\
from mxnet import np
x = np.ones((2, 2))
for i in range(10000):
    y = x + 1
y.wait_to_read()
""",
]
INVALID = [
    """\
from mxnet import np
x = np.ones((2, 2))
for i in range(10000):
    y = x + 1
    y.wait_to_read()
""",
    JAX_STEP + "loss.block_until_ready()",
    JAX_STEP + "jax.block_until_ready(loss)",
    TORCH_STEP
    + "event = torch.cuda.Event()\n        event.record()\n        event.synchronize()\n",
    JAX_STEP + "start = time.time()\n        loss.block_until_ready()",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each such site that is no part of a measurement."""
    return barriers(analysis, CODE, f"{MESSAGE}: {REMEDY}")
