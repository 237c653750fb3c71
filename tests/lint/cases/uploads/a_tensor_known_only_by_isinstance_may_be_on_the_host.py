import numpy as np
import torch


def to_tensor(x):
    if isinstance(x, torch.Tensor):
        return x
    return torch.from_numpy(x)


def train(model, loader, device):
    for x, y, z in loader:
        x = to_tensor(x).float().to(device)  # ASG106
        y = y if isinstance(y, torch.Tensor) else torch.tensor(y)
        loss = (model(x) - y.to(device)).sum()  # ASG106
        loss.backward()
        if not isinstance(z, torch.Tensor):
            z = torch.tensor(z)
        z = z.to(device)  # ASG106
        model.seen = to_tensor(loss).to(device)
