import torch
from torch import nn


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.ones(3))
        self.gray = lambda rgb: (rgb @ self.weight).item()

    def forward(self, rgb):
        return self.gray(rgb)  # ASG102
