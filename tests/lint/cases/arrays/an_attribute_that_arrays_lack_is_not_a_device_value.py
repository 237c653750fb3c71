# settings: min_probability=0.36
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        n = float(unknown.n)  # clean
        if x._is_ready:
            return x
        return y


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        n = float(unknown.n)  # clean
        if getattr(x, "_is_ready", False):
            return x
        return y
