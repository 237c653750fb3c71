import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        if self.table is None:
            self.table = torch.ones(3).to(x)  # clean
        return self.table


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        if len(state) == 0:
            self.mean = torch.zeros(3).to(x)  # clean
