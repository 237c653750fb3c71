import torch


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if self.anew:
            print(loss)  # clean
            self.anew = False


class Trainer2:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        print(loss)  # ASG101
        self.anew = False
