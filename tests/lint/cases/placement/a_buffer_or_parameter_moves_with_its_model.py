import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        self.register_buffer("scale", torch.ones(3))
        return x * self.scale.to(x)  # clean


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        self.bias = nn.Parameter(torch.zeros(3))  # clean
        return self.bias.type_as(x)


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        self.bias = nn.Buffer(torch.zeros(3))  # clean
        return self.bias.type_as(x)
