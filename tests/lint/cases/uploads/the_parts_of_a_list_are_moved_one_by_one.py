import torch


def collate(rows, n):
    parts = []
    for i in range(n):
        parts.append(torch.zeros(len(rows), 9))
    for i in range(n):
        parts[i] = parts[i].cuda()  # ASG106
    return parts


def train(model, loader, optimizer):
    for rows in loader:
        loss = model(collate(rows, 3)).mean()
        loss.backward()
        optimizer.step()
