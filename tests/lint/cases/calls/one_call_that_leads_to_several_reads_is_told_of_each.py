import torch
from torch import nn


def index(ids: torch.Tensor, sizes: torch.Tensor):
    grids = sizes.tolist()  # ASG102
    for row in range(ids.shape[0]):
        grids.append(ids[row].sum().item())  # ASG102
    return grids


class Model(nn.Module):
    def positions(self, ids: torch.Tensor, sizes: torch.Tensor):
        return index(ids, sizes)

    def forward(self, ids: torch.Tensor, sizes=None):
        return self.positions(ids, sizes)
