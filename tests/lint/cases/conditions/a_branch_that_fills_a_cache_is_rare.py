import torch


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if self.name not in self.cache:
            self.cache[str(self.name)] = loss.item()  # clean


class Trainer2:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        self.cache[str(self.name)] = loss.item()  # ASG102
