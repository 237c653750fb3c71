# settings: select=ASG106,ASG108
import torch


class Tables:
    def __init__(self):
        self.host = torch.zeros(1024, 4096, dtype=torch.int32, pin_memory=True)
        self.device = torch.zeros(1024, 4096, dtype=torch.int32, device="cuda")

    def commit(self, model, steps, n):
        for i in range(steps):
            self.device[:, :n].copy_(self.host[:, :n], non_blocking=True)  # ASG108
            self.device[:n].copy_(self.host[:n], non_blocking=True)  # clean
            self.device[i].copy_(self.host[i], non_blocking=True)  # clean
            column = self.host[:, 0].to("cuda", non_blocking=True)  # ASG108
            every = self.host[::2].cuda(non_blocking=True)  # ASG108
            last = self.host[..., -1].cuda(non_blocking=True)  # ASG108
            model(self.device, column, every, last)


def layouts(model, steps):
    pinned = torch.ones(1024, 1024).pin_memory()
    there = torch.ones(1024, 1024, device="cuda")
    for _ in range(steps):
        there.copy_(pinned.t(), non_blocking=True)  # ASG108
        turned = pinned.t().to("cuda", non_blocking=True)  # clean
        half = pinned.t().to("cuda", torch.float16, non_blocking=True)  # ASG108
        wide = pinned[:1].expand(1024, 1024).to("cuda", non_blocking=True)  # ASG108
        dense = pinned[:, ::2].contiguous().to("cuda", non_blocking=True)  # ASG108
        flat = pinned.view(-1)[:4096].to("cuda", non_blocking=True)  # clean
        again = pinned[:, ::2].contiguous().pin_memory().cuda(non_blocking=True)  # clean
        model(there, turned, half, wide, dense, flat, again)


class Job:
    """Of one row, any part of which is one block."""

    def __init__(self, longest):
        self.ids = torch.empty((1, longest), dtype=torch.long, pin_memory=True)
        self.pair = torch.empty(2, longest, pin_memory=True)

    def stage(self, n):
        ids = self.ids[:, :n].to("cuda", non_blocking=True)  # clean
        pair = self.pair[:, :n].to("cuda", non_blocking=True)  # ASG108
        return ids, pair


def serve(job, model):
    while True:
        model(*job.stage(8))


serve(Job(4096), torch.load("model").cuda())
