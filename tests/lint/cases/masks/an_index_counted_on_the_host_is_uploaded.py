import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[range(3), y.long()]  # ASG106


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        for ids in torch.utils.data.BatchSampler(range(9), 3, True):
            x[ids]  # ASG106
