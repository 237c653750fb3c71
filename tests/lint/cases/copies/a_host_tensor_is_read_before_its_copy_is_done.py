# settings: select=ASG404,ASG405
# After pytorch#86264, #127612, #137878; sglang#16493, DeepSpeed#3426, vllm#36013.
import numpy as np
import torch


def at_once(model, x):
    return model(x.cuda()).detach().to("cpu", non_blocking=True).numpy().max()  # ASG404 none


def as_numpy(x):
    return x.to("cpu", non_blocking=True).numpy()


def by_numpy(model, x):
    array = as_numpy(model(x.cuda()))
    return np.mean(array)  # ASG404 none


def of_an_argument(x: torch.Tensor):
    host = x.detach().to(device="cpu", non_blocking=True)
    return host.tolist()  # ASG404 none


def of_anything(x):
    host = x.to("cpu", non_blocking=True)
    if host > 3:  # ASG404 none
        print("large")


def losses(model, loader):
    out = []
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        out.append(loss.detach().to("cpu", non_blocking=True))
    return torch.stack(out).mean()  # ASG404 none


def report(model, x):
    host = model(x.cuda()).to("cpu", non_blocking=True)
    print(f"{host}", flush=True)  # ASG404 none
    print(float(model(x.cuda()).sum().to("cpu", non_blocking=True)))  # ASG404 none


def gathered(model, x):
    outputs = {"loss": model(x.cuda())}
    host = {key: value.to("cpu", non_blocking=True) for key, value in outputs.items()}
    total = host["loss"] + 1  # ASG404 none
    return total


class Fetch:
    def __init__(self):
        self.buffer = torch.empty(1024, pin_memory=True)
        self.stream = torch.cuda.Stream()

    def fetch(self, x):
        with torch.cuda.stream(self.stream):
            self.buffer.copy_(x.cuda(), non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return np.asarray(self.buffer)  # ASG404 none

    def ordered(self, x):
        with torch.cuda.stream(self.stream):
            self.buffer.copy_(x.cuda(), non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.stream)
        return self.buffer.clone()  # ASG404 none

    def cleared(self, x):
        self.buffer[:10].copy_(x.cuda(), non_blocking=True)
        self.buffer.zero_()  # ASG404 none


def to_host(x):
    return x.to("cpu", non_blocking=True)


def by_a_helper(model, x):
    host = to_host(model(x.cuda()))
    return host.argmax()  # ASG404 none


def event_of_before(model, x):
    done = torch.cuda.Event()
    done.record()
    host = model(x.cuda()).to("cpu", non_blocking=True)
    done.synchronize()
    return host.sum()  # ASG404 none


def one_step_late(model, loader):
    before = None
    for x in loader:
        if before is not None:
            print(before)  # ASG404 none
        before = model(x.cuda(non_blocking=True)).to("cpu", non_blocking=True)


def now_and_then(model, loader):
    for step, x in enumerate(loader):
        host = model(x.cuda(non_blocking=True)).to("cpu", non_blocking=True)
        if step % 100 == 0:
            torch.cuda.synchronize()
        print(host)  # ASG404 none
