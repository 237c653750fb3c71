import torch
import helper


def train(model, loader, device):
    for x in loader:
        x = helper.to_tensor(x).to(device)  # ASG106
        model(x).sum().backward()
