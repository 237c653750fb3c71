import torch
from torch import nn


class Attention(nn.Module):
    def forward(self, query: torch.Tensor):
        return self.chunks(query, 4)

    def chunks(self, query: torch.Tensor, overlap: int):
        batch, length = query.size()
        count = torch.div(length, overlap, rounding_mode="trunc")
        real = torch.div(query.amax(), overlap, rounding_mode="trunc")
        spare = query.new_zeros((batch, real + 1))  # ASG102
        return query.new_zeros((batch, count + 1)), spare  # clean
