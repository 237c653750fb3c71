import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        kept = {k: x for k in unknown}
        return [kept[x]]  # clean


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        kept = {"a": x}
        for key in kept:
            print(key)  # clean
