import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        kept = self.find(x)
        kept[torch.arange(3), :] = x + 1  # ASG106


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        kept = self.find(x)
        kept[k, :] = x + 1  # clean
