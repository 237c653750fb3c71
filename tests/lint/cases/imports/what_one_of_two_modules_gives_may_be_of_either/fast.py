import torch


def fetch(x):
    return x.detach().cpu()  # ASG103


class Head:
    def __call__(self, x):
        return x[x > 0]  # ASG105
