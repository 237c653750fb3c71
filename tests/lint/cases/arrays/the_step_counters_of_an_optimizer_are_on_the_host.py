# clean

from typing import cast

import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        def advance(state_steps: list[torch.Tensor]):
            return [s.item() for s in state_steps]


def value_of(x):
    return x.item() if isinstance(x, torch.Tensor) else x


class Optimizer(torch.optim.Optimizer):
    def step(self, params: list[torch.Tensor], state_steps: list[torch.Tensor]):
        groups = Optimizer._group_tensors_by_device_and_dtype([params, state_steps])
        for (_, device_state_steps_), _ in groups.values():
            device_state_steps = cast(list[torch.Tensor], device_state_steps_)
            torch._foreach_add_(device_state_steps, 1)
            yield [value_of(step) for step in device_state_steps]
