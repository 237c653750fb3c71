import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        self.size = torch.arange(3, device=x.device)
        mask = x.argsort()
        return x[mask]  # clean


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        mask_idx = x.sum(0)
        return x[mask_idx]  # clean


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        if x.shape != y.wanted_shape or x.dtype != y.sum():
            return x
        return y  # clean
