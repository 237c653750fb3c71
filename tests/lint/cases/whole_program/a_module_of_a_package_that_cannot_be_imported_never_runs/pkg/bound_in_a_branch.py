import torch

try:
    from registry import REGISTRY
except ImportError:
    from pkg.registries import REGISTRY


@REGISTRY.register()
class Net(torch.nn.Module):
    def forward(self, x):
        return x.sum().item()  # ASG102
