import torch


class Agent:
    def __init__(self, prioritized):
        self.objective = self.plain if prioritized else self.weighted

    def plain(self, loss):
        return loss.item()  # ASG102

    def weighted(self, loss):
        return loss.cpu()  # ASG103

    def update(self, model, loader, optimizer):
        for batch in loader:
            loss = model(batch)
            loss.backward()
            self.objective(loss)
