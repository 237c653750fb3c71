import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        def size(batch_sizes: torch.Tensor):
            return int(batch_sizes[0])

        return size(y)  # clean


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return int(x.batch_sizes[0])  # clean


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return int(x.sizes[0])  # ASG102
