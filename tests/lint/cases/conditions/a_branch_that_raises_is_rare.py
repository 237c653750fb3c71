import torch


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if self.known:
            pass
        else:
            print(loss.item())  # clean
            raise NotImplementedError


class Trainer2:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        pass
        print(loss.item())  # ASG102
        raise NotImplementedError
