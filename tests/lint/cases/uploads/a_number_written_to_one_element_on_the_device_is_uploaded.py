import torch


class Mask(torch.nn.Module):
    def forward(self, x):
        weights = torch.ones(8, device=x.device)
        weights[0] = 0.5  # ASG106
        for i in range(8):
            weights[i] = i  # ASG106
        weights[2:4] = 0.0  # clean
        weights[None] = 1.0  # clean
        table = {}
        table[0] = 1.0  # clean
        return x * weights
