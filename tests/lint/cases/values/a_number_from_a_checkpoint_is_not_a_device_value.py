# clean

import torch


def train(model, loader, path):
    start = torch.load(path, map_location="cuda")["step"]
    for batch in loader:
        model(batch).backward()
        if start > 5:
            start += 1
