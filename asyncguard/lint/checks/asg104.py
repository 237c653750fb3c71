"""Branching on a device value waits in every step.

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

from asyncguard.lint.report.registry import (
    CUPY_STEP,
    JAX_STEP,
    MXNET_STEP,
    TENSORFLOW_STEP,
    TORCH_STEP,
    Example,
)

CODE = "ASG104"
NAME = "truth-test"
MESSAGE = "`{site}` branches on a device value, which forces a wait {when}"
REMEDY = "keep the decision on the device (`where`, `clamp`), or test every N steps"
VALID = [
    TORCH_STEP + "if loss is not None and loss.shape:\n            pass\n",
    TORCH_STEP + "losses = [loss]\n        if losses:\n            pass\n",
    TORCH_STEP + "if step % 10 == 0 and torch.isnan(loss):\n            raise ValueError\n",
    TORCH_STEP + "worst = torch.max(loss, loss)",
]
INVALID = [
    TORCH_STEP + "if torch.isnan(loss):\n            raise ValueError\n",
    Example(
        TORCH_STEP + "assert loss > 0",
        fixed=TORCH_STEP + "torch._assert_async(loss > 0)",
        safe=False,
    ),
    TORCH_STEP + "while loss > 1:\n            loss = loss / 2\n",
    TORCH_STEP + "best = max(loss, loss * 2)",
    TORCH_STEP + "ok = bool(loss > 0)",
    MXNET_STEP + "if loss.mean() > 3:\n            break\n",
    JAX_STEP + "if loss > 3:\n            break\n",
    TENSORFLOW_STEP + "if loss > 3:\n            break\n",
    CUPY_STEP + "if x.max() > 3:\n            break\n",
]
