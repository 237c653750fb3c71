import torch


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        if 0:
            print(loss.item())  # clean
        if False:
            print(loss.item())  # clean
        if 1:
            print(loss.item())  # ASG102
