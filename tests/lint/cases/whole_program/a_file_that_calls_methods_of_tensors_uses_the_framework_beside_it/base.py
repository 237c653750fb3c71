import torch


class Sampler:
    def energy(self, z):
        return torch.dot(z, z)

    def run(self, z: torch.Tensor, steps):
        for _ in range(steps):
            z = self.sample(z)
            self.energy(z).backward()
        return z
