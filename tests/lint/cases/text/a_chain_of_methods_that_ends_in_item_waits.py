import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return (x.reshape(-1, 3) * y.reshape(-1, 3)).sum(dim=1).mean(dim=0).item()  # ASG102
