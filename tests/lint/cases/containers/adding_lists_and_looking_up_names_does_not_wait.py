import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return [n for n in ("a", "b") if n not in unknown + ["c"]]  # clean


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        table = {"a": x, "b": y}
        for loss in unknown:
            x = table[loss]
        return x  # clean


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return "a" in self.collect(x)  # clean
