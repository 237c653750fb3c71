import random
import torch


def train(model, loader):
    for x in loader:
        x = x.cuda(non_blocking=True)
        order = random.sample(range(8), 8)
        model(x[order]).sum().backward()  # ASG106
