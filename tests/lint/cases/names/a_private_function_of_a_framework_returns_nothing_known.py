# clean

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        reduction = F._Reduction.get_enum(k)
        if reduction == 0:
            return x
