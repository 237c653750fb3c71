import numpy as np
import torch


def train(model, loader, p):
    for x in loader:
        x = x.cuda(non_blocking=True)
        model(x[:, np.random.choice(8, p=p)]).sum().backward()
        model(x[:, np.random.choice(8, 3, p=p)]).sum().backward()  # ASG106
