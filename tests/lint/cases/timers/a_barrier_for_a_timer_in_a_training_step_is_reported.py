import time

import torch


def train(model, loader, optimizer, timers):
    for x, y in loader:
        start = time.perf_counter()
        loss = model(x, y)
        torch.cuda.synchronize()  # ASG202
        timers("forward").stop()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()  # ASG202
        seconds = time.perf_counter() - start


class Trainer:
    def train_step(self, x, y):
        start = time.time()
        loss = self.model(x, y)
        loss.backward()
        self.optimizer.step()
        torch.cuda.synchronize()  # ASG202
        self.seconds = time.time() - start
