# clean

import numpy as np
import torch


class Labeler:
    def pick(self, given, kinds):
        keep = kinds != -100
        return given[keep & (kinds > 0)]


class Bench(torch.nn.Module):
    def forward(self, x):
        return self.labeler.pick(x.a, x.b)
