import torch


def _scaled(x, limit):
    if limit is not None:
        return x / x.max().item()  # clean
    return x


def _bounded(x, bound):
    if bound is not None:
        return x / x.max().item()  # ASG102
    return x


def _both(x, limit, bound):
    return _bounded(_scaled(x, limit), bound)


def step(model, x, limit=None, bound=None):
    return _both(model(x), limit, bound)


def main(model, loader, optimizer):
    for x in loader:
        loss = step(model, x.cuda(non_blocking=True)).sum()
        loss = loss + step(model, loss, bound=2).sum()
        loss.backward()
        optimizer.step()
