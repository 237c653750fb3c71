import numpy as np
import torch


def train(model, optimizer, x, stream, device):
    x = x.to(device)
    for batch_idx in stream.epochs():
        loss = model(x[batch_idx]).mean()  # clean
        loss.backward()
        optimizer.step()


def train_2(model, optimizer, x, count, device):
    x = x.to(device)
    for batch_idx in np.array_split(np.random.permutation(count), 8):
        loss = model(x[batch_idx]).mean()  # ASG106
        loss.backward()
        optimizer.step()
