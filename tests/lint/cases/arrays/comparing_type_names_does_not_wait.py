import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        n = float(unknown.n)  # clean
        if x.type() != y.type():
            return x
        return y


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        n = float(unknown.n)  # clean

        def scale(s):
            if isinstance(s, unknown.SCALAR_TYPES) and s == 1:
                return x
            return x * s

        return scale(x.sum())
