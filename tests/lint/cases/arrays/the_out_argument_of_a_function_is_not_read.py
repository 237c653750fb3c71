# clean

import torch


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.arange(x.size(0), out=x.new())
