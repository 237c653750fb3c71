import torch
from ase.calculators.calculator import Calculator
from torch import nn
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


class ForceCalculator(Calculator):
    def __init__(self, model: nn.Module):
        self.model = model.to("cuda")

    def calculate(self, atoms, properties=None):
        out = self.model(torch.as_tensor(atoms.positions, device="cuda"))  # ASG106
        self.results = {"energy": out.sum().item()}  # ASG102


class Pricing:
    def calculate(self, model: nn.Module, x):
        return model(x).sum().item()  # clean
