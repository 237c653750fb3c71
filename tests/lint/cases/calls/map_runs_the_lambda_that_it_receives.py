import torch


def train(model, loader):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        a, b = map(lambda t: t.item(), (loss, loss))  # ASG102
