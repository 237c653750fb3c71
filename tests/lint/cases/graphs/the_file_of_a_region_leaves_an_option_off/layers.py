import torch


class Layer(torch.nn.Module):
    def __init__(self, width, normalize=True, prune=True):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.normalize = normalize
        self.prune = prune

    def forward(self, x):
        if self.normalize:
            x = scaled(x)
        if self.prune:
            x = pruned(x)
        return x * self.weight


def scaled(x):
    return x[x > 0]  # ASG105


def pruned(x):
    return x[x > 1]  # ASG502


class Other(torch.nn.Module):
    def forward(self, x):
        return Layer(4)(x)
