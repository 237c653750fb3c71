import torch


def length(values):
    return torch.tensor([values.numel()], device=values.device)  # clean


def count(values):
    return torch.tensor([values.numel()], device=values.device)  # ASG106


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x)
        loss.backward()
        optimizer.step()
        packed = torch.zeros(3)
        note(length(packed), count(packed), count(loss))
