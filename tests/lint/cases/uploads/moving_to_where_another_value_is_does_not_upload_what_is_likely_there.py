import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return self.embed(x).out.to(x.device)  # clean


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        features = unknown.features
        return features.to(x.device)  # clean


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        return self.layers[0](x).to(self.device)  # clean
