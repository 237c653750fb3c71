"""Formatting a device value as text waits in every step.

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

from asyncguard.lint.report.registry import (
    CUPY_STEP,
    JAX_STEP,
    MXNET_STEP,
    TENSORFLOW_STEP,
    TORCH_STEP,
    Example,
)

CODE = "ASG101"
NAME = "device-value-as-text"
MESSAGE = "`{site}` formats a device value, which waits for the device {when}"
REMEDY = "print it every N steps, or once after the loop"
VALID = [
    TORCH_STEP + "if step % 100 == 0:\n            print(loss)\n",
    TORCH_STEP + 'print(loss.shape, f"{len(loader)}")',
    MXNET_STEP + "print(X.shape)",
]
INVALID = [
    Example(
        TORCH_STEP + "print(loss)",
        fixed=TORCH_STEP + "if step % 100 == 0:\n            print(loss)",
        safe=False,
    ),
    TORCH_STEP + 'print(f"loss {loss:.3f}")',
    TORCH_STEP + 'print("loss %.3f" % loss)',
    TORCH_STEP + 'print("loss {:.3f}".format(loss))',
    MXNET_STEP + "print(loss)",
    JAX_STEP + "print(loss)",
    TENSORFLOW_STEP + "print(loss)",
    CUPY_STEP + "print(x)",
]
