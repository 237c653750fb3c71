import torch


def train(model, loader, optimizer, total):
    for i, batch in enumerate(loader):
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if i != total:
            raise ValueError(i)
        print(loss)  # ASG101
