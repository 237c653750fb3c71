import torch
from torch.utils.data import DataLoader


class Trainer:
    def train(self, data):
        for x in DataLoader(data):
            self.model(x.to(**self.where)).sum().backward()  # ASG106
