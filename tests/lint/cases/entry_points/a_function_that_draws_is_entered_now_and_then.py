"""A function that draws a figure whenever it is called is called now and then."""

import matplotlib.pyplot as plt
import torch
from torch import nn


class Drawn(nn.Module):
    def forward(self, x: torch.Tensor):
        if x.ndim != 4:
            raise ValueError(x.ndim)
        figure, axes = plt.subplots()
        for i in range(3):
            axes[i].pcolormesh(x[i].cpu().numpy())  # clean
        return x


class Shown(nn.Module):
    def __init__(self, show):
        self.show = show

    def forward(self, x: torch.Tensor):
        if self.show:
            plt.subplots()
        return x * x.max().item()  # ASG102
