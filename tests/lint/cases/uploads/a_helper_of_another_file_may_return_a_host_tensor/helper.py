import torch


def to_tensor(x):
    if isinstance(x, torch.Tensor):
        return x
    return torch.from_numpy(x)
