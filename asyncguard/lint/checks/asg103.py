"""Copying an array to the host waits in every step.

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

from asyncguard.lint.report.registry import (
    CUPY_STEP,
    JAX_STEP,
    MXNET_STEP,
    TENSORFLOW_STEP,
    TORCH_STEP,
)

CODE = "ASG103"
NAME = "host-array-conversion"
MESSAGE = "`{site}` copies an array to the host and waits for the device {when}"
REMEDY = "collect on the device and copy once after the loop"
VALID = [
    TORCH_STEP + "outputs.append(loss.detach())",
    """\
import torch
class Data(torch.utils.data.Dataset):
    def __getitem__(self, i):
        return torch.from_numpy(self.rows[i]).numpy()
""",
]
INVALID = [
    TORCH_STEP + "kept.append(loss.detach().cpu().numpy())",
    MXNET_STEP + "kept.append(loss.asnumpy())",
    JAX_STEP + "kept.append(np.asarray(loss))",
    JAX_STEP + "kept.append(jax.device_get(loss))",
    TENSORFLOW_STEP + "kept.append(loss.numpy())",
    CUPY_STEP + "kept.append(x.get())",
    CUPY_STEP + "kept.append(cp.asnumpy(x))",
]
