import torch


def scaled(x: torch.Tensor):
    return x / x.abs().max().item()  # ASG502


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return self.head(x * 2)

    def head(self, x):
        if x.sum() > 0:  # ASG501
            return x
        return -x
