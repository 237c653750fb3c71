import torch


def read(loss: torch.Tensor):
    return loss.item()  # ASG102


def train(model, loader, run):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        run(read, loss)
