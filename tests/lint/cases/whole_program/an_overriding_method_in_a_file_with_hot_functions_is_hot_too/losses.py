import torch
from base import Loss


class Plain:
    def sum_up(self, out):
        return out.sum()


def train(loader, model, optimizer):
    plain = Plain()
    for x in loader:
        plain.sum_up(model(x)).backward()
        optimizer.step()


class Masked(Loss):
    def sum_up(self, out, target):
        return out.sum().item()  # ASG102
