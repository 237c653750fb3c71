import torch
from base import Base


class Masks(Base):
    def second_stage(self, x: torch.Tensor):
        return x.nonzero()  # ASG105


class Other:
    def second_stage(self, x: torch.Tensor):
        return x.nonzero()  # clean
