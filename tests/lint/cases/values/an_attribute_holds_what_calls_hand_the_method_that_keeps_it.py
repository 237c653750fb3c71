import torch


class Meter:
    def __init__(self):
        self.last = None
    def update(self, value):
        self.last = value
    def text(self):
        return str(self.last)  # ASG101


class Counter:
    def __init__(self):
        self.last = None
    def update(self, value):
        self.last = value
    def text(self):
        return str(self.last)  # clean


def train(model, loader, optimizer):
    meter, count = Meter(), Counter()
    for n, (x, y) in enumerate(loader):
        out = torch.nn.functional.mse_loss(model(x), y)
        out.backward()
        optimizer.step()
        meter.update(out.detach())
        count.update(n)
        print(count.text(), meter.text())
