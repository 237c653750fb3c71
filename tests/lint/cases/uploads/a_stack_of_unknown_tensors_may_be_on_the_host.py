import torch


def train(model, source, loader):
    for _ in loader:
        _, xs = source.things()
        xs = torch.stack(xs)
        xs = xs.cuda()  # ASG106
        model(xs).backward()
