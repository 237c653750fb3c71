import torch


class Sampler:
    def __call__(self, n, times):
        return torch.zeros(n).to(times)  # ASG106


class Sampler:
    def __call__(self, n, dtype):
        return torch.zeros(n).to(dtype)  # clean
