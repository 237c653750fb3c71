"""Computing a shape from device data waits in every step.

`nonzero`, one-argument `where`, `x[mask]`, `unique`, `masked_select`, `repeat_interleave`
without `output_size` and slices with bounds on the device need the data before the result can
be allocated, so Python waits for the count.

Before:

    kept = loss[mask].mean()                       # waits for the number of True elements

After:

    kept = (loss * mask).sum() / mask.sum()        # a fixed shape: no wait

Reference: https://docs.nvidia.com/dl-cuda-graph/latest/torch-cuda-graph/sync-free-code.html
"""

from __future__ import annotations

from asyncguard.lint.report.registry import CUPY_STEP, TORCH_STEP, Example

CODE = "ASG105"
NAME = "data-dependent-shape"
MESSAGE = "`{site}` has a data-dependent output shape, so Python must wait for the device {when}"
REMEDY = (
    "use a fixed shape (`where(mask, a, b)`, a weighted sum, `output_size=`) where there is one"
)
VALID = [
    TORCH_STEP + "kept = torch.where(loss > 0, loss, loss * 0)",
    TORCH_STEP + "kept = loss[0]",
    TORCH_STEP + "kept = torch.repeat_interleave(loss, loss.long(), output_size=8)",
]
INVALID = [
    TORCH_STEP + "kept = loss.nonzero()",
    TORCH_STEP + "kept = torch.where(loss > 0)",
    TORCH_STEP + "kept = loss[loss > 0]",
    Example(
        TORCH_STEP + "total = loss[loss > 0].sum()",
        fixed=TORCH_STEP + "total = torch.where(loss > 0, loss, 0).sum()",
        safe=False,
    ),
    TORCH_STEP + "kept = torch.unique(loss)",
    CUPY_STEP + "kept = cp.nonzero(x)",
]
