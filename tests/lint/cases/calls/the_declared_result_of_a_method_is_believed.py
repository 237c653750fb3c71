import torch


class Cache:
    def length(self) -> int:
        return self.lengths.clamp(0)


class Net(torch.nn.Module):
    def __init__(self):
        self.cache = Cache()

    def forward(self, x: torch.Tensor):
        if self.cache.length() > 0:  # clean
            return x


class Cache2:
    def length(self) -> torch.Tensor:
        return self.lengths.clamp(0)


class Net2(torch.nn.Module):
    def __init__(self):
        self.cache = Cache2()

    def forward(self, x: torch.Tensor):
        if self.cache.length() > 0:  # ASG104
            return x
