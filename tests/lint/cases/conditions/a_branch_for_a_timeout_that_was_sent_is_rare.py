# clean
import torch


def train(model, loader, optimizer, timeout_sent, every):
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if timeout_sent or step % every == 0:
            print(loss.item())
