import torch
from torch.utils.data import DataLoader


def evaluate(model, dataset, device):
    for x in DataLoader(dataset):
        model(x.to(device=device, dtype=torch.float32))  # ASG106
        model(x.to(device, torch.float32))  # ASG106
        model(x.to(dtype=torch.float32))
