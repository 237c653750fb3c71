from dataclasses import dataclass
from typing import Literal

import torch

DEFAULT = "sdpa"
KERNELS = {"ring": torch.nn.functional.relu, "sdpa": torch.relu, "flash": torch.relu}


@dataclass
class Config:
    kernel: Literal["ring", "sdpa", "flash"] = DEFAULT
    form: str = "wide"


class Net(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, x, kind="a"):
        if self.config.kernel == "ring":
            self.norm = x.norm().item()  # clean
        if self.config.kernel == "flash":
            self.norm = x.norm().item()  # ASG102
        if self.config.form != "wide":
            self.norm = x.norm().item()  # ASG102
        if self.style == "narrow":  # which has no default in sight
            self.norm = x.norm().item()  # ASG102
        return KERNELS[self.config.kernel](x)


def main():
    return Net(Config(kernel="flash"))
