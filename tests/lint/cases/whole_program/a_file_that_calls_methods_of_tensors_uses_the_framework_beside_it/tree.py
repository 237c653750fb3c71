from base import Sampler


class Tree(Sampler):
    def sample(self, z):
        energy = self.energy(z)
        chance = (-energy).exp().clamp(max=1.0)
        if energy > 3:  # ASG104
            return z
        return z * chance
