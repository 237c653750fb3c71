# settings: min_probability=0.36
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        rows = torch.arange(3)
        return unknown[rows, 0]  # ASG106


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        rows = list(range(3))
        return unknown[rows]  # clean
