# settings: min_probability=default
import torch


class Net(torch.nn.Module):
    def forward(self, n, times):
        return torch.zeros(n).to(times)  # ASG106


class Net(torch.nn.Module):
    def forward(self, n, dtype):
        return torch.zeros(n).to(dtype)  # clean
