import torch


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if self.wanted and not self.told:
            print(loss)  # clean
            self.told = True


class Trainer2:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        print(loss)  # ASG101
        self.told = True
