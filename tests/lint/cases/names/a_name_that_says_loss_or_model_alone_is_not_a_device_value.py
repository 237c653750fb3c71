# settings: min_probability=default min_confidence=high
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        n = float(unknown.n)  # clean
        if self.unknown.aux_loss:  # clean
            return x
        return y


class Net2(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        if self.unknown.build_model(3) > 3:  # clean
            return x
        return y


class Net3(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        if x.q_scale() > 0.1:  # clean
            return x
        return y
