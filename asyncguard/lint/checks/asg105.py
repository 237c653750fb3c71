"""The shape of a result depends on device data each step.

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

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.reports import report_all

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG105"
NAME = "data-dependent-shape"
MESSAGE = (
    "`{site}` needs a shape that depends on device data, so it waits for the device "
    "{when}: use a fixed shape (`where(mask, a, b)`, a weighted sum, `output_size=`)"
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
        kept = torch.where(loss > 0, loss, loss * 0)
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        kept = loss[0]
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        kept = torch.repeat_interleave(loss, loss.long(), output_size=8)
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
        kept = loss.nonzero()
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        kept = torch.where(loss > 0)
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        kept = loss[loss > 0]
""",
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        kept = torch.unique(loss)
""",
    """\
import cupy as cp
def run(n):
    x = cp.ones((8, 8))
    for step in range(n):
        x = x @ x
        kept = cp.nonzero(x)
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each such site."""
    return report_all(analysis, CODE, MESSAGE)
