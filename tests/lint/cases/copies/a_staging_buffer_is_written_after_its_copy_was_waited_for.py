# clean
# settings: select=ASG404,ASG405
import torch


def behind_an_event(batches, model):
    staging = torch.empty(1024, 1024, pin_memory=True)
    done = torch.cuda.Event()
    for batch in batches:
        done.synchronize()
        staging.copy_(batch)
        model(staging.to("cuda", non_blocking=True))
        done.record()


def in_turns(batches, model):
    buffers = [torch.empty(1024, pin_memory=True) for _ in range(2)]
    events = [torch.cuda.Event() for _ in range(2)]
    for i, batch in enumerate(batches):
        events[i % 2].synchronize()
        buffers[i % 2].copy_(batch)
        model(buffers[i % 2].to("cuda", non_blocking=True))
        events[i % 2].record()


def made_anew(batches, model):
    for batch in batches:
        staging = torch.empty(1024, pin_memory=True)
        staging.copy_(batch)
        model(staging.to("cuda", non_blocking=True))


def pinned_anew(batches, model):
    for batch in batches:
        x = torch.from_numpy(batch).pin_memory()
        x += 1
        model(x.to("cuda", non_blocking=True))


def in_pageable_memory(batches, model):
    staging = torch.empty(1024)
    for batch in batches:
        staging.copy_(batch)
        model(staging.to("cuda", non_blocking=True))


def copied_at_once(batches, model):
    staging = torch.empty(1024, pin_memory=True)
    for batch in batches:
        staging.copy_(batch)
        model(staging.to("cuda"))


def read_only(model, steps):
    staging = torch.ones(1024).pin_memory()
    for _ in range(steps):
        model(staging.to("cuda", non_blocking=True))
        print(staging.sum(), staging[0])


def read_by_the_step(batches, model, optimizer):
    staging = torch.empty(1024, pin_memory=True)
    for batch in batches:
        staging.copy_(batch)
        loss = model(staging.to("cuda", non_blocking=True)).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())


def rows_of_their_own(batches, model):
    staging = torch.empty(64, 1024, pin_memory=True)
    for i, batch in enumerate(batches):
        staging[i].copy_(batch)
        model(staging[i].to("cuda", non_blocking=True))


def halves(model, n):
    staging = torch.zeros(1024, pin_memory=True)
    x = staging[:n].to("cuda", non_blocking=True)
    staging[n:].zero_()
    first, second = staging[0].cuda(non_blocking=True), staging[1]
    second.fill_(2)
    return model(x, first)


def a_copy_of_it(model):
    staging = torch.zeros(1024, pin_memory=True)
    x = staging.to("cuda", non_blocking=True)
    other = staging + 1
    other.mul_(2)
    clone = staging.clone()
    clone.zero_()
    return model(x, other, clone)


def filled_by_the_stream_itself(model, there):
    staging = torch.zeros(1024, pin_memory=True)
    there = there.cuda()
    x = staging.to("cuda", non_blocking=True)
    staging.copy_(there, non_blocking=True)
    torch.cuda.synchronize()
    return model(x)


class Inputs:
    def __init__(self, n):
        self.host = torch.zeros(n, pin_memory=True)
        self.free = torch.cuda.Event()

    def upload(self):
        there = self.host.to("cuda", non_blocking=True)
        self.free.record()
        return there

    def step(self, batches, model):
        for batch in batches:
            self.free.synchronize()
            self.host.copy_(batch)
            model(self.upload())
