import torch


def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        for k in range(4):
            if k == 0:
                print(loss)  # ASG101
