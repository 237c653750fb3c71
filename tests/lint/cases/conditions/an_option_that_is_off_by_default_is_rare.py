import torch


class Layer(torch.nn.Module):
    def __init__(self, smooth=False, scale=True):
        super().__init__()
        self.smooth = smooth
        self.scale = scale

    def forward(self, x: torch.Tensor):
        if self.smooth:
            print(x.sum().item())  # clean
        if self.scale:
            print(x.sum().item())  # ASG102
        return x
