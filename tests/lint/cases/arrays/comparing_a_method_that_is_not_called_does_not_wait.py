# clean

import torch


def train(model, loader, images):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        if loss.size != images[0].size:
            continue
