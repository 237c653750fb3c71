# xfail: likely enough for the default, by the weights: few such programs were judged
import torch


class Attention(torch.nn.Module):
    def chunk(self, states, overlap):
        count = torch.div(states.size(1), overlap * 2, rounding_mode="trunc")
        return states.view(states.size(0), count, overlap * 2, states.size(2))  # clean

    def scaled(self, states, exponent: torch.Tensor):
        scale = torch.pow(2.0, exponent)
        return states.view(-1, scale.sum())  # ASG102

    def forward(self, x):
        x = self.chunk(x, self.overlap)
        return self.scaled(x, x.sum())
