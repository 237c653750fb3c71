import abc

import torch


class Trainer(abc.ABC):
    @abc.abstractmethod
    def compute(self, batch): ...

    def limit(self, batch):
        return None

    def fit(self, loader, optimizer):
        for batch in loader:
            out = self.compute(batch)
            out["loss"].backward()
            optimizer.step()
            if out["loss"] > 3:  # ASG104
                break
            if self.limit(batch):  # clean
                break
