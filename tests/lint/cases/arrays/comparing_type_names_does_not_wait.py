# settings: min_probability=0.36
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        n = float(unknown.n)  # clean
        if x.type() != y.type():
            return x
        return y
