import torch
from torch import nn


class Delay(nn.Module):
    def forward(self, ids: torch.Tensor):
        delays = torch.tensor([1, 2]).repeat(2)
        ends = ids[:, -1].to(delays.device) == 3  # ASG103
        delays[ends] -= 1  # clean
        return delays
