import torch

from comm import Strategy


def train(model, loader, optimizer):
    strategy = Strategy()
    for batch in loader:
        strategy.reduce(model(batch)).backward()
        optimizer.step()
        strategy.barrier()
