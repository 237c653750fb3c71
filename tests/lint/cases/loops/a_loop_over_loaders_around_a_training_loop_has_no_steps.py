import torch
from torch.utils.data import DataLoader


def fit(model, splits, optimizer):
    for split in DataLoader(splits):
        for batch in DataLoader(split):
            optimizer.zero_grad()
            loss = model(batch)
            loss.backward()
            optimizer.step()
        print(loss)  # clean
