# What blocks on CUDA by torch's own sync-debug test (`test/test_cuda.py`) and NVIDIA's CUDA graph
# guide ("Sync-free code"). All but what is called `host` is on the device. Two rows of theirs are
# missing: `GradScaler.step`, which only an audit reports, and the arguments that a distribution
# validates, which the line does not show.
# clean

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
        some = torch.any(y)
        nans = torch.isnan(y)
        greatest = torch.max(x[0, 0], x[0, 1])
        moved = host.to("cuda", non_blocking=True)
        moved = host.cuda(non_blocking=True)
        moved = host.pin_memory().to("cuda", non_blocking=True)
        back = x.to("cpu", non_blocking=True)
        cast = x.type(torch.long)
        made = torch.zeros(3, device="cuda")
        made = torch.ones(3, device="cuda")
        made = torch.empty(3, device="cuda")
        made = torch.randn(3, device="cuda")
        made = torch.randperm(20000, device="cuda")
        chosen = torch.where(mask, x, y)
        x.masked_fill_(mask, 0.0)
        x[mask] = 1.0
        part = x[host_mask]
        x[host_mask] = 1.0
        part = x[ind]
        x[ind] = y
        part = x[0]
        x[ind] = zero
        part = x[2:4]
        part = x[:, ind]
        hot = one_hot(ind, num_classes=10)
        longer = torch.repeat_interleave(x, ind, dim=0, output_size=20)
        longer = x.repeat_interleave(ind, dim=0, output_size=20)
        x[ind].sum().backward()
        x[0].sum().backward()
        clip_grad_norm_(model.parameters(), 1.0)
        clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=False)
        event.record()
        event.wait()
        stream.wait_stream(other)
        stream.wait_event(event)
        work = dist.all_reduce(x, async_op=True)
        counts = torch.histc(x, bins=10, min=0, max=1)
        inverse, info = torch.linalg.inv_ex(x)
        factor, info = torch.linalg.cholesky_ex(x)
        normal = Normal(x, y, validate_args=False)
        optimizer.zero_grad()
        x.mean().backward()
        optimizer.step()
