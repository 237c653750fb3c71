import torch


def compute(loss_function, out):
    loss = loss_function(out)
    return loss.item()  # ASG102


def train(model, loader):
    for batch in loader:
        model(batch).backward()
        compute(print, 1)
