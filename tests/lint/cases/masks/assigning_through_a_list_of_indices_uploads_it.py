import torch


def train(model, loader):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        rows = [1, 2]
        loss[rows] = 0  # ASG106
