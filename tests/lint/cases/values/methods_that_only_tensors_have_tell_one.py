import numpy as np
import torch


class Pool(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.out = torch.nn.Linear(width, width)

    def forward(self, x, batch):
        sizes = batch.bincount()  # ASG105
        scale = np.sqrt(x.shape[-1])
        return self.out(x) * sizes.size(0) / scale
