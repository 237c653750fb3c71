import torch


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        alpha = torch.rand(3, 1)
        return x * alpha.expand_as(x).to(x.device)  # ASG106
