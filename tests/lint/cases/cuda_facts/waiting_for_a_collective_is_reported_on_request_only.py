# settings: min_probability=default
# From torch's own sync-debug test and NVIDIA's CUDA graph guide.

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
        work = dist.all_reduce(x, async_op=True)
        work.wait()  # clean
        optimizer.zero_grad()
        x.mean().backward()
        optimizer.step()
