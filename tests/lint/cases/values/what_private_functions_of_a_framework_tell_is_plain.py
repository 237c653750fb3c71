import torch
from torch.nn.modules.utils import _pair


class Patches(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = _pair(size)
        self.limit = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        if x.shape[-1] % self.size[0] != 0:  # clean
            raise ValueError(x.shape)
        if not torch.autograd._is_checkpoint_valid():  # clean
            return x
        if self.limit[0] > 1:  # ASG104
            return -x
        return x
