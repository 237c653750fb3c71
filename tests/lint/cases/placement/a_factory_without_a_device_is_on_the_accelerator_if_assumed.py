# settings: assume_device=accelerator

import torch


def train(model, loader):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        weight = torch.ones(3).sum().item()  # ASG102
        print(loss)  # ASG101
