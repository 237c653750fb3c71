# settings: min_probability=0.3
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        if self.normalizer:  # clean
            self.normalizer.cuda()  # ASG106
