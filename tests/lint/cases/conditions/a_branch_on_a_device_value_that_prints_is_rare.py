import torch


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if loss > 50:  # ASG104
            print(f"odd: {loss}")  # clean


class Trainer2:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        print(f"odd: {loss}")  # ASG101
