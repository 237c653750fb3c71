import torch
from base import Base


class Own(Base):
    def sum_up(self, out: torch.Tensor):
        return out.sum().item()  # ASG102
