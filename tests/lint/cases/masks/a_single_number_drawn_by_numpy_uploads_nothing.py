import numpy as np
import torch


class Net(torch.nn.Module):
    def forward(self, images: torch.Tensor):
        one = images[np.random.choice(3)]
        return one + images[np.random.choice(3, size=2)]  # ASG106
