import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        total = unknown.sum()
        total = total.cpu().numpy().tolist()  # ASG103
        if k:
            total = other(k)
        print(total)
