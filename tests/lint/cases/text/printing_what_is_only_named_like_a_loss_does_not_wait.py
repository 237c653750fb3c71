import torch


def text(value):
    if isinstance(value, torch.Tensor):
        return "a tensor"
    return str(value)


class Trainer:
    def training_step(self, x: torch.Tensor, loss):
        for name, loss in self.parts(x):
            print(loss)  # clean


def text(value):
    if isinstance(value, torch.Tensor):
        return "a tensor"
    return str(value)


class Trainer2:
    def training_step(self, x: torch.Tensor, loss):
        for name, loss in self.parts(x):
            print(self.model.to_string(x))  # clean


def text(value):
    if isinstance(value, torch.Tensor):
        return "a tensor"
    return str(value)


class Trainer3:
    def training_step(self, x: torch.Tensor, loss):
        for name, loss in self.parts(x):
            print(text(x))  # clean
