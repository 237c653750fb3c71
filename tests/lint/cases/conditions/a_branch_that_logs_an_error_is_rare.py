import torch


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if bad:
            self.logger.error("odd: %s", loss)  # clean
