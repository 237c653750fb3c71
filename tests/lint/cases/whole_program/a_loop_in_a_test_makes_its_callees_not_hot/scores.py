import torch


def score(x: torch.Tensor):
    return x.sum().item()  # clean
