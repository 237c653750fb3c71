import torch
from torch import nn


def attention_wrapper(q: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return q[: lengths.max().item()]  # ASG102


def other_wrapper(q: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return q[: lengths.max().item()]  # clean


torch.library.custom_op("mine::attention_wrapper", attention_wrapper, mutates_args=())
torch.library.custom_op("mine::other_wrapper", other_wrapper, mutates_args=())


class Attention(nn.Module):
    def forward(self, q: torch.Tensor, lengths: torch.Tensor):
        return torch.ops.mine.attention_wrapper(q, lengths)
