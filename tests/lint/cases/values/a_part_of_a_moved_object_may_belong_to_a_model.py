# settings: min_probability=0.45
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        model = other(k).to(self.device)  # ASG106
        print(model.parts[0].sizes)  # clean
        if model.parts[0].sizes:  # clean
            return y
