import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        j, k = ((x % 1.0 < 0.5) & (x > 1.0)).T
        return y.repeat(2, 1)[torch.stack((j, k))]  # ASG105
