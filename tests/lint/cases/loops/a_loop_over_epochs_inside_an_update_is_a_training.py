import torch


class Agent:
    def update(self, batch):
        for member in self.epochs:
            loss = self.criterion(batch)
            self.optimizer.zero_grad(), loss.backward(), self.optimizer.step()
        print(loss.item())  # clean
