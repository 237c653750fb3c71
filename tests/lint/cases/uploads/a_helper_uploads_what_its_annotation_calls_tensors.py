# settings: min_confidence=low
from typing import Optional, Tuple

import torch


def get_point(datapoint: Tuple[torch.Tensor, ...], device: Optional[str] = None):
    x, y = datapoint
    if device is not None:
        x = x.to(device)  # ASG106
        y = y.to(device)  # ASG106
    return x, y


def fit(model, loader, optimizer, device: Optional[str] = None):
    for point in loader:
        x, y = get_point(point, device)
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
