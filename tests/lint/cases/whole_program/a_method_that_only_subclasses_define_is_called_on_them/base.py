import torch


class Trainer:
    def run(self, loader):
        for batch in loader:
            loss = self.compute(batch)
            loss.backward()
            self.optimizer.step()
