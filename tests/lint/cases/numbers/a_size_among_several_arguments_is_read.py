import torch
from torch import nn


def padded(b, longest):
    return torch.zeros((b, longest))  # ASG102


def like(tokens: torch.Tensor, longest):
    return tokens.new_zeros((4, longest))  # ASG102


def known(b, longest):
    return torch.zeros((b, longest))  # clean


class Net(nn.Module):
    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor):
        n = lengths.max()
        return padded(4, n), like(tokens, n), known(4, tokens.shape[1])
