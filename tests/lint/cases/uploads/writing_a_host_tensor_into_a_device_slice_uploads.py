import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        out = self.net(x)
        x[2:6] = torch.tensor([1, 2, 3])  # ASG106
        return out.sum().item()  # ASG102


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        out = self.net(x)
        x[2:6] = 0.5
        return out.sum().item()  # ASG102


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        out = self.net(x)
        out["targets"] = torch.zeros(3)
        return out.sum().item()  # ASG102
