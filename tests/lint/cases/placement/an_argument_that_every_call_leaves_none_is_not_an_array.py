import torch


class Erase(torch.nn.Module):
    def forward(self, x):
        return self.values(x.shape) + self.more(x.shape, x)

    def values(self, shape, value: torch.Tensor | None = None):
        value = value or self.value  # clean
        return torch.full(shape, 0.0, device="cuda")

    def more(self, shape, value: torch.Tensor | None = None):
        value = value or self.value  # ASG104
        return torch.full(shape, 0.0, device="cuda")
