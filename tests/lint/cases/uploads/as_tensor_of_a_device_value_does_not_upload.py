import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return torch.as_tensor(x > 0, device=x.device)  # clean


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return torch.as_tensor([1, 2], device=x.device)  # ASG106
