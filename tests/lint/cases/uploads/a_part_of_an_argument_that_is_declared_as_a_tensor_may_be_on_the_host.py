import torch


class Trainer:
    def train(self, inputs: torch.Tensor, targets: torch.Tensor, rounds):
        for i in rounds:
            x = inputs[i : i + 8].to(self.device)  # ASG106
            y = targets[i].detach().to(self.device)  # ASG106
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()


class Model(torch.nn.Module):
    def fit(self, inputs: torch.Tensor, rounds):
        for i in rounds:
            loss = self(inputs[i : i + 8].to(self.device)).sum()  # clean
            loss.backward()
            self.optimizer.step()
