import torch
from torch import nn


def train(model, loader, optimizer):
    for x, y in loader:
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        classes = out.argmax(-1)
        if classes[0] in (1, 2):  # ASG104
            continue
        found = [c for c in classes]
        if 3 in found:  # ASG104
            continue
        named = {"a": classes}
        if "a" in named:  # clean
            continue
