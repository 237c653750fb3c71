import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
        if self.skip_nonfinite_grads:
            self.bad = x.isfinite().all().item()  # ASG102
