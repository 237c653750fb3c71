import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        best = max(unknown, key=lambda row: x[row].sum())  # ASG104
        return best


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        best = max(unknown, key=lambda row: len(x[row]))  # clean
        return best


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        best = min(unknown, key=lambda row: x[row].sum())  # ASG104
        return best


class Net4(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        best = min(unknown, key=lambda row: len(x[row]))  # clean
        return best


class Net5(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        best = sorted(unknown, key=lambda row: x[row].sum())  # ASG104
        return best


class Net6(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        best = sorted(unknown, key=lambda row: len(x[row]))  # clean
        return best
