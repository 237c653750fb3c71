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
        found = x.nonzero()  # ASG105
        found = torch.nonzero(x)  # ASG105
        found = torch.where(mask)  # ASG105
        found = x.masked_select(mask)  # ASG105
        found = torch.masked_select(x, mask)  # ASG105
        found = x.unique()  # ASG105
        found = torch.unique(x)  # ASG105
        found = torch.unique_consecutive(x)  # ASG105
        part = x[mask]  # ASG105
        x[mask] = y[:3]  # ASG105
        part = x[start:]  # ASG105
        part = x[start:end]  # ASG105, ASG105
        hot = one_hot(ind)  # ASG105
        longer = torch.repeat_interleave(x, ind, dim=0)  # ASG105
        longer = x.repeat_interleave(ind, dim=0)  # ASG105
        x[mask].sum().backward()  # ASG105
        counts = torch.bincount(ind)  # ASG105
        counts = torch.histc(x, bins=10)  # ASG105
        drawn = torch.multinomial(x, 2)  # clean
        pairs = torch.combinations(ind)  # ASG105
        optimizer.zero_grad()
        x.mean().backward()
        optimizer.step()
