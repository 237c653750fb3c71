import torch


class Runner:
    def __init__(self):
        self.kept = []
        self.times = []

    def step(self, model, batch):
        loss = model(batch).mean()
        loss.backward()
        self.kept.append(loss.detach())
        self.times.append(len(batch))

    def report(self):
        total = 0.0
        for part in self.kept:
            total += float(part)  # ASG102
        for seconds in self.times:
            total += float(seconds)  # clean
        return total


def train(runner: Runner, model, loader, optimizer):
    for batch in loader:
        runner.step(model, batch)
        optimizer.step()
        print(runner.report())
