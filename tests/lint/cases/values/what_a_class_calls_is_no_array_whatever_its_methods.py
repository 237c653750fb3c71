import torch
from torch import nn

from cells import get_rnn


class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = get_rnn(kind)(4, 4)
        self.table = get_rnn(kind)

    def encode(self, x):
        return self.rnn(x)

    def forward(self, x, n: int, sizes: torch.Tensor):
        _, state = self.encode(x)
        state = self.rnn.repeat_interleave(state, sizes)  # clean
        rows = self.table.repeat_interleave(sizes)  # ASG105
        return self.rnn(x, state), rows
