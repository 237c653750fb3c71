import torch


def keep(values: torch.Tensor, sizes: torch.LongTensor, q: float):
    t, h, w = sizes
    n = max(h * w, int(t * h * (1 - q)))  # clean
    return values[:n]


def keep_read(values: torch.Tensor, sizes: torch.LongTensor, q: float):
    t, h, w = sizes
    n = max(h * w, t * h)  # ASG104
    return values[:n]  # ASG105


class Model(torch.nn.Module):
    def forward(self, values: torch.Tensor, grid: torch.Tensor):
        h = w = int(values.shape[1] ** 0.5)
        values = keep(values, (values.shape[0], h, w), self.rate)
        return keep_read(values, grid, 0.5)
