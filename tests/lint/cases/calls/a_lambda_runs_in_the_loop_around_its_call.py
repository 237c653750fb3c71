import numpy as np
import torch


def train(model, batches, device):
    for batch in batches:
        x, y = map(lambda part: part.to(device), (batch.x, batch.y))  # ASG106
        (model(x) - y).backward()
