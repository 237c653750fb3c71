import torch


class Codebook(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inited", torch.zeros(1))

    def forward(self, x):
        if self.inited:  # ASG104
            return x
        return x * 2
