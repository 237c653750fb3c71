import torch


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if not exists(self.start):
            self.start = loss.item()  # clean


class Trainer2:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        self.start = loss.item()  # ASG102
