import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        def name(d):
            return [f"{k}_loss" for k, v in d.items()]

        return name({"a": x.sum()})  # clean


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return list(filter(lambda p: p.grad is not None, self.parameters()))  # clean
