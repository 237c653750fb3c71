# clean
# settings: select=ASG404,ASG405
import torch


def by_its_event(model, x):
    host = model(x.cuda()).to("cpu", non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    done.synchronize()
    return host.numpy()


def by_the_device(model, x):
    host = {"y": model(x.cuda()).to("cpu", non_blocking=True)}
    torch.cuda.synchronize()
    return host["y"].tolist()


def by_the_device_if_there_is_one(model, x):
    host = model(x.cuda()).to("cpu", non_blocking=True)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return host.tolist()


def by_a_later_read(model, x):
    y = model(x.cuda())
    host = y.to("cpu", non_blocking=True)
    if y.sum().item() > 0:
        return host + 1
    return host


def without_the_flag(model, x, late):
    host = model(x.cuda()).to("cpu")
    other = model(x.cuda()).to("cpu", non_blocking=late)
    return host.sum() + other.sum()


def by_its_stream(model, x, stream):
    y = model(x.cuda())
    with torch.cuda.stream(stream):
        host = y.to("cpu", non_blocking=True)
    stream.synchronize()
    return host.item()


def asked(model, x, events):
    host = model(x.cuda()).to("cpu", non_blocking=True)
    events[0].record()
    while not events[0].query():
        pass
    return host.item()


def as_numpy(x: torch.Tensor):
    return x.to("cpu", non_blocking=True, copy=True).numpy()  # the same memory: not read yet


def by_numpy(model, x):
    array = as_numpy(model(x.cuda()))
    part = array[:3]
    torch.cuda.synchronize()
    return array.sum(), part.max()


def shapes(model, x):
    host = model(x.cuda()).to("cpu", non_blocking=True)
    return host.shape, host.view(-1)[:3], torch.empty_like(host), host.dtype, len(host.size())


def back(model, x):
    host = model(x.cuda()).to("cpu", non_blocking=True)
    return host.to("cuda", non_blocking=True)  # in the order of the stream


def into_pageable_memory(model, x):
    host = torch.empty(1024)
    host.copy_(model(x.cuda()), non_blocking=True)
    return host.sum()


class Later:
    def start(self, x):
        self.host = x.cuda().to("cpu", non_blocking=True)
        self.done = torch.cuda.Event()
        self.done.record()

    def result(self):
        self.done.synchronize()
        return self.host.numpy()

    def finish(self, x):
        self.start(x)
        self.wait()
        return self.host.numpy()

    def wait(self):
        self.done.synchronize()


def one_step_late(model, loader):
    before = None
    for x in loader:
        y = model(x.cuda(non_blocking=True))
        host, done = y.to("cpu", non_blocking=True), torch.cuda.Event()
        done.record()
        if before is not None:
            late, event = before
            event.synchronize()
            print(late.item())
        before = host, done


def waited_in_the_round_before(model, loader):
    before = None
    for x in loader:
        host = model(x.cuda(non_blocking=True)).to("cpu", non_blocking=True)
        if before is not None:
            print(before)
        torch.cuda.synchronize()
        before = host


def yielded(model, loader):
    for x in loader:
        host = model(x.cuda(non_blocking=True)).to("cpu", non_blocking=True)
        yield host
        print(host)


def out_of_sight(model, x, finish):
    host = model(x.cuda()).to("cpu", non_blocking=True)
    finish()
    return host.sum()


def of_several(xs):
    """After Megatron-LM: a list is asked whether it holds anything."""
    hosts = []
    for x in xs:
        host = torch.empty(4096, pin_memory=True)
        host.copy_(x.cuda(), non_blocking=True)
        hosts.append(host)
    if hosts:
        torch.cuda.current_stream().synchronize()
    return [host.sum() for host in hosts]
