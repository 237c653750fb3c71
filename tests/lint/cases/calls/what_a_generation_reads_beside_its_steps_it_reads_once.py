# settings: min_confidence=low
import torch


def generate(model, ids):
    print(ids.max())  # clean
    for _ in range(10):
        ids = model(ids)
    return ids


def score(model, ids):
    print(ids.max())  # ASG101
    return model(ids)


def fit(model, loader, optimizer):
    for x, y in loader:
        loss = model(x.cuda(non_blocking=True), y)
        loss.backward()
        optimizer.step()
        generate(model, loss)
        score(model, loss)
