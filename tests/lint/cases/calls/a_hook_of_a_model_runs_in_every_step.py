import torch
from torch import nn


class Probe:
    def __init__(self, model: nn.Module):
        model.fc.register_forward_hook(self.watch)
        model.fc.weight.register_hook(self.check)
        model.fc.register_buffer("seen", self.start())

    def start(self):
        x = torch.zeros(3, device="cuda")
        print(x.sum().item())  # clean
        return x

    def watch(self, module, inputs, output):
        print(output.mean().item())  # ASG102
        print(inputs[0].sum().item())  # ASG102

    def check(self, grad):
        if torch.isnan(grad).any():  # ASG104
            raise ValueError
