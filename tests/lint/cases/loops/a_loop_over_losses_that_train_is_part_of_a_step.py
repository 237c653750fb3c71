import torch


class Trainer:
    def train_iter(self, x):
        for name, loss in self.losses.items():
            loss(x).backward()
            self.optimizers[name].step()

    def train(self, data_loader):
        for data in data_loader:
            self.train_iter(data[0].to(self.device))  # ASG106
