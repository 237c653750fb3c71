import functools
import torch


def report(name, x):
    print(name, x.item())  # ASG102


def train(model, loader):
    note = functools.partial(report, "loss")
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        note(loss)
