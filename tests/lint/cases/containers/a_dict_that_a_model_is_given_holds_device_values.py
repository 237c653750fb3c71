# settings: min_probability=0.1
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, llm: nn.Module):
        super().__init__()
        self.model = llm

    def logps(self, logps, mask, names):
        if mask is not None:
            assert False in mask  # ASG104
        assert "mask" in names  # clean
        assert 0 in names  # clean
        return logps

    def forward(self, data):
        out = self.model(**data).logits
        return self.logps(out, data["attention_mask"], {"mask": 0}).mean()


class Inputs(nn.Module):
    def __init__(self, llm: nn.Module):
        super().__init__()
        self.model = llm

    def forward(self, options):
        if 0 in options["sizes"]:  # clean
            return None
        return self.model(options["x"])
