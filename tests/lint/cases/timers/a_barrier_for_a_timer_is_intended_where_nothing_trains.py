# clean
import time

import torch


def latency(model, loader):
    for x in loader:
        start = time.perf_counter()
        model(x)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start


def benchmark_training(model, loader, optimizer):
    for x, y in loader:
        start = time.perf_counter()
        model(x, y).backward()
        optimizer.step()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start


def train(model, loader, optimizer, options):
    for step, (x, y) in enumerate(loader):
        model(x, y).backward()
        optimizer.step()
        if step % options.log_every == 0:
            torch.cuda.synchronize()
            now = time.perf_counter()


def train_an_epoch(model, loader, optimizer):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for x, y in loader:
        model(x, y).backward()
        optimizer.step()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
