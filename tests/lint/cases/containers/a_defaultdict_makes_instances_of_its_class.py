# settings: select=ALL
from collections import defaultdict

import torch


class Meter:
    def __init__(self, window: int = 20):
        self.window, self.total = window, 0.0

    def update(self, value):
        if isinstance(value, torch.Tensor):
            value = value.item()  # ASG102
        self.total += value


class Unused:
    def update(self, value):
        if isinstance(value, torch.Tensor):
            value = value.item()  # ASG102 none
        return value


class Meters:
    def __init__(self):
        self.meters = defaultdict(Meter)
        self.others = defaultdict(lambda: Meter(5))

    def update(self, **values):
        for name, value in values.items():
            self.meters[name].update(value)
            self.others[name].update(value)


def train(model, loader, optimizer):
    meters = Meters()
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        meters.update(loss=loss)
