# clean

import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        def log(logs):
            return logs if logs else {}

        return log({"loss": x.sum()})
