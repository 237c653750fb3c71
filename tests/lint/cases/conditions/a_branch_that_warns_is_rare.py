import torch


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if bad:
            warnings.warn(f"odd: {loss}")  # clean
