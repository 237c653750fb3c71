# clean

import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        order = torch.randperm(9)
        return x[:, order[k + 1]]
