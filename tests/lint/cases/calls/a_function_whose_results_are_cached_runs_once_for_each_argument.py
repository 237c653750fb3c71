from functools import lru_cache

import torch


@lru_cache(maxsize=32)
def anchors(size, device):
    return torch.tensor([size, size], device=device)  # clean


def offsets(size, device):
    return torch.tensor([size, size], device=device)  # ASG106


class Head(torch.nn.Module):
    def forward(self, x):
        return x + anchors(x.shape[0], x.device) + offsets(x.shape[0], x.device)
