import torch
from torch import nn


def fires(hidden, alphas, threshold):
    frame = torch.zeros([3], device=hidden.device)
    levels = torch.stack([alphas[:, 0] + frame], 1)
    return [torch.nonzero(level + frame >= threshold) for level in levels]  # ASG105


def largest(net: nn.Module, x, bound):
    if net(x).max() > bound:  # ASG104
        return x
    return None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.threshold = 1.0
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        return largest(self.lin, x, 0.5), fires(x, self.lin(x), self.threshold)


def on_host(scores):
    start = torch.zeros([3], device=scores.device)
    if start.max() > 0.5:  # clean
        return scores
    return None


class Net2(nn.Module):
    def forward(self, x):
        return on_host(torch.ones(3))


def anchors(feats, device=None):
    device = device or feats[0].device
    print(device)  # clean
    return torch.arange(end=3, device=device)  # clean


class Net3(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        return anchors([self.lin(x)])
