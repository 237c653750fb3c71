import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[~y]  # ASG105


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[y.eq(0)]  # ASG105


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[torch.isnan(x)]  # ASG105


class Net4(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[(x > 0).unsqueeze(-1).expand_as(x)]  # ASG105


class Net5(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[:, y.bool()]  # ASG105


class Net6(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[torch.stack([x > 0, y > 0]).any(0)]  # ASG105


class Net7(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[torch.ones(3, device=x.device, dtype=torch.bool)]  # ASG105


class Net8(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return x[(x > 0).to(x.device)]  # ASG105


class Net9(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        padding_mask = y + 0
        return x[padding_mask]  # ASG105


class Net10(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return unknown.scores[x > 0]  # ASG105
