# path: tests/test_loader.py
# settings: tests=check
import torch


def test_batches(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        print(loss.item())  # clean


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        print(loss.item())  # ASG102
