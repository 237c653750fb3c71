import torch


def run(x: torch.Tensor, iterations):
    for step in range(iterations):
        x = x.cos() + 1
        print(x)  # ASG101
