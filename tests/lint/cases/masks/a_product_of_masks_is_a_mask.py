import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        x[(x > 0) * (y > 0)] -= 1  # ASG105
