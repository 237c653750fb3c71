import torch


def ensure(values, length, pad=0):
    return (pad,) * (length - len(values)) + tuple(values)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("counts", torch.zeros(1, 1, 8, 8))

    def forward(self, values, location):
        where = tuple(slice(at, at + n) for at, n in zip(location, values.shape[2:]))
        self.counts[ensure(where, values.ndim, slice(None))] += 1  # clean
        rows = [int(n) for n in values.shape]
        self.counts[ensure((rows,), 4)] += 1  # ASG106
