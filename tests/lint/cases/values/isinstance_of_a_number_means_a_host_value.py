# settings: min_probability=0.36
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        import numbers

        n = float(unknown.n)  # clean

        def scale(s):
            if isinstance(s, numbers.Number) and s == 1:
                return x
            return x * s

        return scale(x.sum())
