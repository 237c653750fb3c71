import torch


def train(model, loader):
    kept = []
    for batch in loader:
        loss = model(batch)
        loss.backward()
        kept.append(loss.detach())
        if len(kept) >= 100 or len(kept) == 7:
            print(torch.stack(kept).mean())  # clean
            kept = []
