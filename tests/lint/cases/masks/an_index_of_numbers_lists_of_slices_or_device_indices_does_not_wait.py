import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        x[~y] = 0.0  # clean


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        mask = torch.zeros(3, device=x.device, dtype=torch.bool)
        x[mask[:, None]] = 0  # clean


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[(x > 0).to(torch.long)]  # clean


class Net4(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[[slice(None)] * k + [slice(0, 2)]]  # clean


class Net5(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        index = (slice(None), 0)  # clean
        return x[index]


class Net6(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        index = (1, 2)  # clean
        return x[index]


class Net7(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        index = (x.argmax(0), y.argmax(0))  # clean
        return x[index]
