import torch
from base import Loss


class Masked(Loss[int]):
    def sum_up(self, out, target):
        mask = target > 0
        return out.sum() if mask.any() else out.mean()  # ASG104
