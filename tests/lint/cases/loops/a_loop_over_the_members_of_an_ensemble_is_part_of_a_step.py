import torch


class Agent:
    def update(self, batch):
        for member in self.ensemble:
            loss = self.criterion(batch)
            self.optimizer.zero_grad(), loss.backward(), self.optimizer.step()
        print(loss.item())  # ASG102
