# clean

import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        def advance(state_steps: list[torch.Tensor]):
            return [s.item() for s in state_steps]
