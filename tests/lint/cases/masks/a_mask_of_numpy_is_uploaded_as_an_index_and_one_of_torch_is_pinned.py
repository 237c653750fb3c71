# torch makes indices of a mask in host memory and copies them from pinned memory
# (`expandTensors`, and `mask_cpu` in its own test/test_cuda.py); of NumPy's it makes a tensor on
# the device first.
import numpy as np
import torch
from torch import nn


class Loss(nn.Module):
    def forward(self, features: torch.Tensor, n: int):
        chosen = np.zeros(n, dtype=bool)
        chosen[::2] = True
        active = features.relu()
        a = active[chosen].sum()  # ASG106
        b = active[~chosen].sum()  # ASG106
        return a + b + active[np.logical_not(chosen) & chosen].sum()  # ASG106


class OwnMasks(nn.Module):
    def forward(self, features: torch.Tensor, n: int):
        mine = torch.zeros(n, dtype=torch.bool)
        mine[-4:] = True
        active = features.relu()
        a = active[mine].sum()  # clean
        b = active[~mine.cpu()].sum()  # clean
        c = active[torch.logical_not(mine) & mine].sum()  # clean
        d = active[torch.from_numpy(np.ones(n, dtype=bool))].sum()  # clean
        return a + b + c + d


class Copied(nn.Module):
    def forward(self, features: torch.Tensor):
        there = (features > 0).cpu()  # ASG103
        kept = features[there]  # clean
        return kept.sum() + features[there.numpy()].sum()  # ASG106
