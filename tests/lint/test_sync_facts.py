"""What blocks on CUDA and what does not, by torch's own sync-debug test and NVIDIA's guide.

The lists of `test/test_cuda.py` in torch and of "Sync-free code" in NVIDIA's CUDA graph guide, each
row as it would stand in a training loop. All but what is called `host` is on the device. Two rows
of theirs are missing, for the line does not show them: `GradScaler.step` and the arguments that a
distribution validates. The tracer counts both.
"""

from __future__ import annotations

import pytest

from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Confidence

LOOP = """\
import numpy as np
import torch
import torch.distributed as dist
from torch.distributions import Normal
from torch.nn.functional import one_hot
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence


def train(model: torch.nn.Module, loader, optimizer, other: torch.cuda.Stream):
    event, stream = torch.cuda.Event(), torch.cuda.Stream()
    for host in loader:
        inputs = host.to("cuda", non_blocking=True)
        x, y = model(inputs).softmax(dim=1), torch.randn(8, 8, device="cuda")
        mask, ind, zero = x > 0, x.argmax(dim=1), torch.zeros((), device="cuda")
        host_ind, host_mask = torch.tensor([0, 2]), torch.zeros(8, dtype=torch.bool)
        start, end = mask.sum(), ind[0]
        {row}
        optimizer.zero_grad()
        x.mean().backward()
        optimizer.step()
"""
BLOCKS = [
    ("number = x.item()", "ASG102"),
    ("numbers = x.tolist()", "ASG102"),
    ("number = float(x)", "ASG102"),
    ("number = int(x)", "ASG102"),
    ("number = complex(x)", "ASG102"),
    ("truth = bool(x)", "ASG104"),
    ("if x: break", "ASG104"),
    ("truth = torch.is_nonzero(x)", "ASG104"),
    ("text = f'{x}'", "ASG101"),
    ("text = '{}'.format(x)", "ASG101"),
    ("text = '%s' % x", "ASG101"),
    ("text = str(x)", "ASG101"),
    ("print(x)", "ASG101"),
    ("greater = max(x[0, 0], x[0, 1])", "ASG104"),
    ("moved = host.to('cuda')", "ASG106"),
    ("moved = host.to('cuda', non_blocking=False)", "ASG106"),
    ("moved = host.cuda()", "ASG106"),
    ("back = x.cpu()", "ASG103"),
    ("back = x.to('cpu')", "ASG103"),
    ("back = x.to('cpu', non_blocking=False)", "ASG103"),
    ("back = x.type(torch.LongTensor)", "ASG103"),
    ("made = torch.tensor([1.0, 2.0], device='cuda')", "ASG106"),
    ("made = torch.as_tensor(np.ones(3), device='cuda')", "ASG106"),
    ("made = torch.cuda.BoolTensor([True, False])", "ASG106"),
    ("found = x.nonzero()", "ASG105"),
    ("found = torch.nonzero(x)", "ASG105"),
    ("found = torch.where(mask)", "ASG105"),
    ("found = x.masked_select(mask)", "ASG105"),
    ("found = torch.masked_select(x, mask)", "ASG105"),
    ("found = x.unique()", "ASG105"),
    ("found = torch.unique(x)", "ASG105"),
    ("found = torch.unique_consecutive(x)", "ASG105"),
    ("part = x[mask]", "ASG105"),
    ("x[mask] = y[:3]", "ASG105"),
    ("part = x[host_ind]", "ASG106"),
    ("x[host_ind] = y[:2]", "ASG106"),
    ("part = x[[0, 2]]", "ASG106"),
    ("x[ind] = 0", "ASG106"),
    ("part = x[start:]", "ASG105"),
    ("part = x[start:end]", "ASG105"),
    ("hot = one_hot(ind)", "ASG105"),
    ("longer = torch.repeat_interleave(x, ind, dim=0)", "ASG105"),
    ("longer = x.repeat_interleave(ind, dim=0)", "ASG105"),
    ("x[mask].sum().backward()", "ASG105"),
    ("clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)", "ASG104"),
    ("event.synchronize()", "ASG201"),
    ("stream.synchronize()", "ASG201"),
    ("torch.cuda.synchronize()", "ASG202"),
    ("dist.barrier()", "ASG202"),
    ("same = torch.equal(x, y)", "ASG104"),
    ("same = torch.allclose(x, y)", "ASG104"),
    ("counts = torch.bincount(ind)", "ASG105"),
    ("counts = torch.histc(x, bins=10)", "ASG105"),
    ("inverse = torch.linalg.inv(x)", "ASG104"),
    ("factor = torch.linalg.cholesky(x)", "ASG104"),
    ("drawn = torch.multinomial(x, 2)", "ASG105"),
    ("pairs = torch.combinations(ind)", "ASG105"),
    ("packed = pack_padded_sequence(x, [8, 4], enforce_sorted=False)", "ASG106"),
]
DOES_NOT = [
    "some = torch.any(y)",
    "nans = torch.isnan(y)",
    "greatest = torch.max(x[0, 0], x[0, 1])",
    "moved = host.to('cuda', non_blocking=True)",
    "moved = host.cuda(non_blocking=True)",
    "moved = host.pin_memory().to('cuda', non_blocking=True)",
    "back = x.to('cpu', non_blocking=True)",
    "cast = x.type(torch.long)",
    "made = torch.zeros(3, device='cuda')",
    "made = torch.ones(3, device='cuda')",
    "made = torch.empty(3, device='cuda')",
    "made = torch.randn(3, device='cuda')",
    "made = torch.randperm(20000, device='cuda')",
    "chosen = torch.where(mask, x, y)",
    "x.masked_fill_(mask, 0.0)",
    "x[mask] = 1.0",
    "part = x[host_mask]",
    "x[host_mask] = 1.0",
    "part = x[ind]",
    "x[ind] = y",
    "part = x[0]",
    "x[ind] = zero",
    "part = x[2:4]",
    "part = x[:, ind]",
    "hot = one_hot(ind, num_classes=10)",
    "longer = torch.repeat_interleave(x, ind, dim=0, output_size=20)",
    "longer = x.repeat_interleave(ind, dim=0, output_size=20)",
    "x[ind].sum().backward()",
    "x[0].sum().backward()",
    "clip_grad_norm_(model.parameters(), 1.0)",
    "clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=False)",
    "event.record()",
    "event.wait()",
    "stream.wait_stream(other)",
    "stream.wait_event(event)",
    "work = dist.all_reduce(x, async_op=True)",
    "counts = torch.histc(x, bins=10, min=0, max=1)",
    "inverse, info = torch.linalg.inv_ex(x)",
    "factor, info = torch.linalg.cholesky_ex(x)",
    "normal = Normal(x, y, validate_args=False)",
]


DEFAULT = Settings()


def codes(row: str, settings: Settings = DEFAULT) -> set[str]:
    return {finding.code for finding in check_source(LOOP.format(row=row), "x.py", settings)}


@pytest.mark.parametrize(("row", "code"), BLOCKS, ids=[row for row, _ in BLOCKS])
def test_what_blocks_is_found(row: str, code: str) -> None:
    assert codes(row) == {code}


@pytest.mark.parametrize("row", DOES_NOT)
def test_what_does_not_block_is_not(row: str) -> None:
    assert codes(row) == set()


def test_a_wait_that_the_process_group_decides_is_shown_on_request() -> None:
    row = "work = dist.all_reduce(x, async_op=True); work.wait()"
    assert codes(row) == set()
    assert codes(row, Settings(min_confidence=Confidence.LOW)) == {"ASG201"}
