import torch


def update(model, optimizer, batch):
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()
    return loss


def run(model, optimizer, loader):
    for batch in loader:
        update(model, optimizer, batch)
    last = update(model, optimizer, next(iter(loader)))
    print(last.item())  # clean
