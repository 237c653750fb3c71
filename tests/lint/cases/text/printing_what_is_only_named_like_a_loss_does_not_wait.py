# settings: min_probability=0.83
import torch


def text(value):
    if isinstance(value, torch.Tensor):
        return "a tensor"
    return str(value)


class Trainer:
    def training_step(self, x: torch.Tensor, loss):
        for name, loss in self.parts(x):
            # Known by its name alone.
            print(loss)  # clean


class Trainer3:
    def training_step(self, x: torch.Tensor, loss):
        for name, loss in self.parts(x):
            print(text(x))  # clean
