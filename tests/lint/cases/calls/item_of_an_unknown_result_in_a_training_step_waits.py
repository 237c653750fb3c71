import torch
from elsewhere import score


def train(model, loader):
    for batch in loader:
        model(batch).backward()
        best = score(batch).item()  # ASG102
