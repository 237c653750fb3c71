import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        for key in unknown:
            if key == "logits":
                self.kept = x.cpu()  # ASG103
