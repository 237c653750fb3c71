import torch


class Every:
    def __init__(self, n):
        self.n = n

    def due(self, step):
        """Whether it is time."""
        return self.n > 0 and (step + 1) % self.n == 0

    def early(self, step):
        return step < self.n


def main(loader, model, optimizer):
    every = Every(100)
    for step, x in enumerate(loader):
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        if every.due(step):
            print(loss.item())
        if not every.due(step):
            print(loss.item())  # ASG102
        if every.early(step):
            print(loss.item())  # ASG102
