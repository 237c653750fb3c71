import torch

TABLE = {}


def register(cls):
    TABLE[cls.name] = cls
    return cls


@register
class Even:
    name = "even"

    def update(self, loss):
        return loss.item()  # ASG102


@register
class Odd:
    name = "odd"

    def update(self, loss):
        return loss.tolist()  # clean
