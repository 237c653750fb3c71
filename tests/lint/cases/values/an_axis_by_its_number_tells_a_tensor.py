import numpy as np
import torch


def train(model, loader, optimizer, frames, weather):
    for x in loader:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if frames.sum(dim=1).max() > 3:  # ASG104
            break
        if weather.mean(dim="time") > np.pi:
            break
