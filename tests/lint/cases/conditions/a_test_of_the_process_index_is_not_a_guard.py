import torch


def train(model, loader, optimizer, process_idx):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if process_idx == 0:
            print(loss)  # ASG101
