import torch
from typing import Generic, TypeVar

T = TypeVar("T")


class Loss(torch.nn.Module, Generic[T]):
    def forward(self, out, target):
        return self.sum_up(out, target)

    def sum_up(self, out, target):
        return (out - target).sum()
