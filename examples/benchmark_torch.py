"""NumPy against torch, with and without a forced synchronisation.

On a GPU the loop without `synchronize` measures only the enqueuing. torch's CPU backend computes
before it returns, so there both loops take the same time: forcing a synchronisation costs nothing
because nothing is pending.
"""

import numpy
import torch

from asyncguard import Benchmark

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def synchronize() -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


# The first operation on a device also loads its libraries.
warm_up = torch.randn(size=(1000, 1000), device=device)
torch.mm(warm_up, warm_up)
synchronize()

with Benchmark("numpy"):
    for _ in range(10):
        a = numpy.random.normal(size=(1000, 1000))
        b = numpy.dot(a, a)

with Benchmark(f"torch on {device.type}, not synchronised"):
    for _ in range(10):
        a = torch.randn(size=(1000, 1000), device=device)
        b = torch.mm(a, a)

synchronize()

with Benchmark(f"torch on {device.type}, synchronised"):
    for _ in range(10):
        a = torch.randn(size=(1000, 1000), device=device)
        b = torch.mm(a, a)
    synchronize()
