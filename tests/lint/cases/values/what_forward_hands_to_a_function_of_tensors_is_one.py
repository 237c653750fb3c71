# settings: min_probability=0.35
import numpy as np
import torch
from torch import nn


def mask_of(lengths):
    steps = torch.arange(lengths.max())  # ASG102
    return steps < lengths.unsqueeze(1)


def padded(lengths: torch.Tensor):
    return lengths


def either(lengths: torch.Tensor | list[int] | None):
    return lengths


def from_any(lengths):
    lengths = torch.as_tensor(lengths).cuda()  # ASG106
    return lengths.unsqueeze(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.loss = nn.MSELoss()
        self.seed = np.arange(3)

    def forward(self, a, b, c, d, e, f, g, h, i):
        if c.max() > 2:  # clean
            a = a + 1
        x = self.linear(a)
        if a.max() > 2:  # ASG104
            x = x + 1
        x = torch.cat([b, x])
        if b.max() > 2:  # ASG104
            x = x + 1
        x = torch.softmax(c, -1) + x
        if c.max() > 2:  # ASG104
            x = x + 1
        x = self.loss(x, d)
        if d.max() > 2:  # ASG104
            x = x + 1
        x = x + padded(e) + mask_of(f)
        if e.max() > 2 or f.max() > 2:  # ASG104, ASG104
            x = x + 1
        x = x + either(g) + from_any(h) + torch.full((3,), i)
        if g.max() > 2 or h.max() > 2 or i.max() > 2:  # clean
            x = x + 1
        return x
