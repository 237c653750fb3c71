"""A model that is made in a round of trials is set up there, whatever the round does besides."""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.register_buffer("sizes", torch.tensor(sizes, device="cuda"))  # clean

    def forward(self, x):
        return x * self.sizes


class Table:
    def __init__(self, sizes):
        self.sizes = torch.tensor(sizes, device="cuda")  # ASG106


def trial(loader, sizes):
    for x in loader:
        head = Head(sizes).cuda()
        head(x.cuda(non_blocking=True)).sum().backward()
        Table(sizes)
