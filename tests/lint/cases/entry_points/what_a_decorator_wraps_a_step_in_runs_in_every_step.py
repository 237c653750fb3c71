# settings: select=ALL
import functools

import torch
from torch import nn


def cast_to_device(method):
    @functools.wraps(method)
    def inner(model, *arguments):
        device = next(model.parameters()).device
        moved = [torch.from_numpy(argument).to(device) for argument in arguments]  # ASG106
        return method(model, *moved)

    return inner


def cached(method):
    def inner(model, *arguments):
        return torch.from_numpy(arguments[0]).to(model.device)  # ASG106 none

    return inner


class Net(nn.Module):
    @cast_to_device
    def forward(self, x):
        return self.layers(x)

    @cached
    def load_weights(self, path):
        return path
