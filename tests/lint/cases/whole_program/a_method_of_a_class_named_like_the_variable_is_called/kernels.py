import torch


class Kernel:
    def sample(self, state):
        raise NotImplementedError


class RandomWalk(Kernel):
    def sample(self, state):
        return torch.randn(3, device="cuda").item()  # ASG102


class Pool:
    def sample(self, state):
        return torch.randn(3, device="cuda").item()  # clean
