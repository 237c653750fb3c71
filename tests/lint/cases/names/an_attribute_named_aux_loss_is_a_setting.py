# settings: min_probability=default
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        if self.net.aux_loss:  # clean
            x = x + 1
        return x
