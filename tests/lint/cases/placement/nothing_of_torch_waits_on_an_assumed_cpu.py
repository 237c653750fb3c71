# settings: assume_device=cpu
# clean

import torch


def train(model, loader):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        weight = torch.ones(3).sum().item()
        print(loss)
