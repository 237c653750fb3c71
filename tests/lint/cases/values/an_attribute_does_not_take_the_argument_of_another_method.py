# clean

import torch


class Patches(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.size = (config.size, config.size)

    def pad(self, x, width):
        if width % self.size[1] != 0:
            x = x[:, :1]
        return x

    def forward(self, x: torch.Tensor):
        return self.pad(x, x.shape[1])
