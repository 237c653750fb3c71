# settings: min_confidence=low
import torch


def line_search(f, x):
    return f(x).item()  # ASG102


def train(loader, model, optimizer, f):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        line_search(f, x)
