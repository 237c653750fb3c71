# settings: min_confidence=high min_probability=0.3
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        n = float(unknown.n)  # clean
        out = self.net(x)
        if out[1]:  # clean
            return x
        return y
