import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, inputs: int):
        super().__init__()
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.weights = np.ones(inputs)

    def forward(self, batch):
        y = batch.x
        for _, head in self.heads.items():
            y = head(y)
            if y.abs().max() > 10:  # ASG104
                y = y / 2
        for layer in self.layers:
            y = layer(batch.x)
            if y.abs().max() > 10:  # ASG104
                y = y / 2
        z = self.layers[0](batch.x)
        if z.abs().max() > 10:  # ASG104
            z = z / 2
        for weight in self.weights:
            if weight > 10:  # clean
                z = z / 2
        return y + z
