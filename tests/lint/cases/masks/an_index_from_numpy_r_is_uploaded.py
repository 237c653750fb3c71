import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        import numpy as np

        return x[..., np.r_[0:4, 5:9]]  # ASG106
