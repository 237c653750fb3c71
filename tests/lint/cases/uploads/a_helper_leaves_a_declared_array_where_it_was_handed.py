import torch
from torch.utils.data import DataLoader


def as_float(x: torch.Tensor) -> torch.Tensor:
    return x.float()


def train(model, dataset, device):
    for audio in DataLoader(dataset):
        on_host = as_float(torch.as_tensor(audio.numpy()))
        model(on_host.to(device))  # ASG106


def predict(model, dataset, device):
    for audio in DataLoader(dataset):
        there = as_float(audio.to(device, non_blocking=True))  # ASG108
        model(there.to(device))  # clean
