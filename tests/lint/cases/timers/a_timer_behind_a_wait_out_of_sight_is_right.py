import time

import torch


def measure(model: torch.nn.Module, x: torch.Tensor) -> float:
    start = time.time()
    model(x)
    my_synchronize()
    return time.time() - start  # clean


def measure_another(model: torch.nn.Module, x: torch.Tensor) -> float:
    start = time.time()
    model(x)
    my_notes()
    return time.time() - start  # ASG402 none
