import torch
from torch import nn


class Predictor(nn.Module):
    def forward(self, x):
        return x

    def forward_chunk(self, x, cache):
        if x.sum() > 0:  # ASG104
            return x
        return cache

    def forward_dummy(self, x):
        if x.sum() > 0:  # clean
            return x
        return None


class Planner:
    def forward_chunk(self, x: torch.Tensor):
        return x.sum().item()  # clean
