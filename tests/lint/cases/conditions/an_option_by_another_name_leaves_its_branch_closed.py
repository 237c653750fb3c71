import torch


class Config:
    check_logits: bool = False
    sync_timing: bool = False


class Clock:
    def __init__(self, sync):
        self.sync = sync

    def tick(self):
        if self.sync:
            torch.cuda.synchronize()  # clean


class Head(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.check = cfg.check_logits

    def forward(self, x):
        if self.check and torch.isnan(x).any():  # clean
            raise RuntimeError("nan")
        return x


def main(loader, cfg):
    head, clock = Head(cfg).cuda(), Clock(cfg.sync_timing)
    for x in loader:
        head(x.cuda(non_blocking=True)).sum().backward()
        clock.tick()
