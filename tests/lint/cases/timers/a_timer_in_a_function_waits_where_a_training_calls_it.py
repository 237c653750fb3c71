import time
from contextlib import contextmanager
from functools import wraps

import torch


class Timers:
    def __init__(self, sync=True):
        self.sync, self.total = sync, {}

    @contextmanager
    def __call__(self, name):
        if self.sync:
            torch.cuda.synchronize()  # ASG202
        begin = time.perf_counter()
        yield
        if self.sync:
            torch.cuda.synchronize()  # ASG202
        self.total[name] = time.perf_counter() - begin


def timed(function):
    @wraps(function)
    def inner(*args):
        begin = time.perf_counter()
        result = function(*args)
        torch.cuda.synchronize()  # ASG202
        inner.spent = time.perf_counter() - begin
        return result

    return inner


@timed
def update(optimizer):
    optimizer.step()
    optimizer.zero_grad()


def train(model, loader, optimizer):
    timers = Timers()
    for batch in loader:
        with timers("forward"):
            loss = model(batch).mean()
        loss.backward()
        update(optimizer)


def now():
    torch.cuda.synchronize()  # clean
    return time.perf_counter()


def benchmark(model, batch, count):
    begin = now()
    for _ in range(count):
        model(batch)
    return now() - begin
