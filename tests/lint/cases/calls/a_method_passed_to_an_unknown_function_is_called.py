import torch
from apply import for_each


class Head(torch.nn.Module):
    def masks(self, out):
        return out[out > 0].sum()  # ASG105

    def forward(self, outs):
        return for_each(self.masks, outs)
