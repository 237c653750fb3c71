import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return torch.ones(3).to(x)  # ASG106


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return torch.arange(3).type_as(x)  # ASG106


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return torch.ones(3).to(x.device)  # ASG106


class Net4(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[[0, 2]]  # ASG106


class Net5(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        ids = torch.randint(9, (3,))
        return x[torch.fmod(ids, unknown), torch.div(ids, unknown)]  # ASG106
