# settings: select=ASG404,ASG405
# After pytorch#130785 and the reports around vLLM's and SGLang's input buffers.
import numpy as np
import torch


def filled_anew(batches):
    staging = torch.empty(1024, 1024, pin_memory=True)
    for batch in batches:
        staging.copy_(torch.from_numpy(batch))  # ASG405 none
        yield_to(staging.to("cuda", non_blocking=True))


def yield_to(x):
    return x * 2


def changed_in_place():
    staging = torch.ones(1024).pin_memory()
    x = staging.cuda(non_blocking=True)
    staging.mul_(2)  # ASG405 none
    x = x + staging.to("cuda", non_blocking=True)
    staging += 1  # ASG405 none
    y = staging.to("cuda", non_blocking=True)
    staging[0] = 3.0  # ASG405 none
    return x, y


def by_numpy(rows):
    staging = torch.empty(1024, dtype=torch.long, pin_memory=True)
    array = staging.numpy()
    there = torch.empty(1024, dtype=torch.long, device="cuda")
    for row in rows:
        array[: len(row)] = row  # ASG405 none
        there.copy_(staging, non_blocking=True)
    np.copyto(array, np.zeros(1024))  # ASG405 none
    there.copy_(staging, non_blocking=True)
    array.fill(0)  # ASG405 none


class Inputs:
    def __init__(self, n):
        self.host = torch.zeros(n, dtype=torch.long, pin_memory=True)
        self.there = torch.zeros(n, dtype=torch.long, device="cuda")
        self.array = self.host.numpy()
        self.done = torch.cuda.Event()

    def step(self, model, requests):
        for ids in requests:
            n = len(ids)
            self.host[:n] = torch.tensor(ids)  # ASG405
            self.there[:n].copy_(self.host[:n], non_blocking=True)
            model.enqueue(self.there)

    def collate(self, rows):
        self.there.copy_(self.host, non_blocking=True)
        torch.stack([torch.tensor(row) for row in rows], out=self.host)  # ASG405 none

    def event_of_before(self, side):
        self.done.record()
        self.there.copy_(self.host, non_blocking=True)
        self.done.synchronize()
        self.host.zero_()  # ASG405 none

    def of_another_stream(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            self.there.copy_(self.host, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        self.host.fill_(1)  # ASG405 none

    def drawn(self, n):
        self.there[:n].copy_(self.host[:n], non_blocking=True)
        self.host[:n] += 1  # ASG405 none
        self.there.copy_(self.host, non_blocking=True)
        torch.arange(len(self.host), out=self.host)  # ASG405 none
        self.there.copy_(self.host, non_blocking=True)
        return self.host.view(-1)[:n].random_(0, 9)  # ASG405 none
