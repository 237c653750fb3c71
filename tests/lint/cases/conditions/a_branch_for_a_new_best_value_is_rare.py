import torch


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if loss < self.best_loss:  # ASG104
            self.best_loss = loss.item()  # clean


class Trainer2:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        self.best_loss = loss.item()  # ASG102
