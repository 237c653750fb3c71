from elsewhere import *
import torch


@REGISTRY.register()
class Net(torch.nn.Module):
    def forward(self, x):
        return x.sum().item()  # ASG102
