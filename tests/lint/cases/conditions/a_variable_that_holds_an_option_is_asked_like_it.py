import torch


class Net(torch.nn.Module):
    def __init__(self, cached=False, plain=True):
        super().__init__()
        self.cached, self.plain = cached, plain

    def forward(self, x):
        use_cache = self.cached and x.is_cuda
        use_plain = self.plain and x.is_cuda
        if use_cache:
            self.norm = x.norm().item()  # clean
        if use_plain:
            self.norm = x.norm().item()  # ASG102
        return x


def shown(x, force=False):
    force = force or x.size(0) > 8
    if force:
        return x.norm().item()  # clean
    return None


class Other(torch.nn.Module):
    def forward(self, x):
        force = x.size(0) > 8
        force = force or x.size(1) > 8
        if force:
            return x.norm().item()  # ASG102
        return None
