import torch


class Uniform:
    def update(self, loss):
        return loss.item()  # ASG102


class Prioritized:
    def update(self, loss):
        return loss.cpu()  # clean


BUFFERS = {"uniform": Uniform, "prioritized": Prioritized}
