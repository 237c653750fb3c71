import torch


class Base(torch.nn.Module):
    def forward(self, x: torch.Tensor, boxes=None):
        return self.second_stage(x, boxes=boxes)

    def second_stage(self, x, boxes=None):
        return x
