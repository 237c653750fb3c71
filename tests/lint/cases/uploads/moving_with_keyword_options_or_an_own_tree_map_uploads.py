import torch
from torch.utils.data import DataLoader


def tree_map(fn, x):
    return [fn(y) for y in x]


class Trainer:
    def train(self, data):
        for x in DataLoader(data):
            self.model(x.to(**self.where)).sum().backward()  # ASG106


class Trainer2:
    def train(self, data):
        for x in DataLoader(data):
            self.model(tree_map(lambda y: y.to(self.device), x)).sum().backward()  # ASG106
