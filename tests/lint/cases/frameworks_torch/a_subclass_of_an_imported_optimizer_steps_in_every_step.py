import torch
from torch.optim.optimizer import Optimizer


class Grad(Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                size = p.grad.norm().item()  # ASG102
