import torch


def train(model, loader, optimizer, bounds):
    for x, y in loader:
        scores = model(x)
        corner = [slice(None), slice(None)] + [slice(*bound) for bound in bounds]
        loss = scores[corner].sum()  # clean
        loss += scores[[0, 2]].sum()  # ASG106
        loss.backward()
        optimizer.step()
