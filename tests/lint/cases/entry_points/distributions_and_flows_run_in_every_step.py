import torch
from torch.distributions import Distribution, Transform


class Stable(Distribution):
    def log_prob(self, value):
        near = value < 1
        return value[near].sum()  # ASG105

    def __repr__(self):
        return f"Stable({self.scale.item()})"  # clean


class Spline(Transform):
    def _call(self, x):
        assert (x.exp() >= 0).all()  # ASG104
        return x
