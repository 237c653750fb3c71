import torch


def train(model, loader, criterion, device):
    batches = loader.__iter__()
    for step in range(9):
        x, target = batches.next()
        target = target.long().to(device)  # ASG106
        criterion(model(x), target.long()).backward()
