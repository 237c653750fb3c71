import torch
from dataclasses import dataclass


@dataclass
class Config:
    check_range: bool = False
    keep_norms: bool = False


class Block(torch.nn.Module):
    def __init__(self, width, config: Config, trace_norms=False, penalty: float = 0.0):
        super().__init__()
        self.inner = torch.nn.Linear(width, width)
        self.config = config
        self.trace_norms, self.penalty = trace_norms, penalty

    def forward(self, x, as_list=False, scaled=False):
        y = self.inner(x)
        if self.trace_norms:
            self.last = y.norm().item()  # clean
        if self.penalty != 0:
            y = y + self.penalty * y.norm().item()  # clean
        if self.config.check_range and y.max().item() > 10:  # clean
            raise ValueError("too large")
        if self.config.keep_norms:
            self.norms = y.norm(dim=-1).tolist()  # ASG102
        if not scaled:
            return y.tolist() if as_list else y  # clean
        return y / y.max().item()  # clean


def build(width):
    return Block(width, Config(keep_norms=True))
