# settings: select=ASG103,ASG108
import torch


class Offload:
    def __init__(self, model, n):
        self.host = torch.zeros(n, 1024)
        self.pinned = torch.zeros(n, 1024).pin_memory()

    def run(self, model, batches):
        for i, x in enumerate(batches):
            y = model(x.cuda()).detach()
            self.host[i].copy_(y, non_blocking=True)  # ASG108
            self.pinned[i].copy_(y, non_blocking=True)  # clean
            self.pinned[:, i].copy_(y, non_blocking=True)  # ASG108
            torch.empty(4).copy_(y, True)  # ASG108
            torch.empty_like(y, device="cpu").copy_(y, non_blocking=True)  # ASG108
            torch.empty_like(y, device="cpu", pin_memory=True).copy_(y, non_blocking=True)  # clean


def into_what_is_handed(model, batches, target):
    for x in batches:
        target.copy_(model(x.cuda()), non_blocking=True)  # clean
