import torch


class Buffer:
    def sample(self, state):
        return torch.randn(3, device="cuda").item()  # clean
