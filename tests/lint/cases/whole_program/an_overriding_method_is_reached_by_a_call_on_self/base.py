import torch


class Base(torch.nn.Module):
    def __init__(self, kind):
        self.kind, self.base = kind, Base(kind)

    def forward(self, out):
        if out.max() > 3:  # ASG104
            pass
        return self.sum_up(out)

    def sum_up(self, out):
        return out.sum()
