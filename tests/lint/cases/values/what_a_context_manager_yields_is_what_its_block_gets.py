from contextlib import contextmanager

import torch


@contextmanager
def summed(x):
    yield x.sum()


def train(model, loader, optimizer):
    model.cuda()
    for x in loader:
        out = model(x.cuda(non_blocking=True))
        out.mean().backward()
        optimizer.step()
        with summed(out) as total:
            print(total.item())  # ASG102
