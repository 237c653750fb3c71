from torch import nn
from .imports import *


class Masker:
    def before_batch(self):
        mask = torch.tensor([1.0, 2.0], device=self.device)  # ASG106
        self.best = torch.argmax(mask)
