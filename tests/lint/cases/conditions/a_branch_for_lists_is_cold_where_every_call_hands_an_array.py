import torch
from torch import nn


class Embeddings(nn.Module):
    def forward(self, x, lengths):
        if isinstance(lengths, list):
            lengths = torch.tensor(lengths, device=x.device)  # clean
        return x * lengths


class Scales(nn.Module):
    def forward(self, x, lengths):
        if isinstance(lengths, list):
            lengths = torch.tensor(lengths, device=x.device)  # ASG106
        return x * lengths


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings, self.scales = Embeddings(), Scales()

    def forward(self, x: torch.Tensor, ends: torch.Tensor, sizes):
        x = self.embeddings(x, ends[1:] - ends[:-1])
        return self.scales(x, sizes)
