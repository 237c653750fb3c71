import torch


def train(model, loader):
    for x, y in loader:
        hot = torch.zeros(9, 9).scatter_(1, y.unsqueeze(1), 1)
        model(hot.cuda()).backward()  # ASG106
