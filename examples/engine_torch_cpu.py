"""Exercise of the chapter: is CPU torch asynchronous?

Asked by experiment: after a large product is enqueued, how much of the total is left to wait for?
On the engine nearly everything; on torch's CPU device nothing, since its operators run before they
return. There a device value is a CUDA value.
"""

import sys
import time

import torch

from asyncguard.engine import np

size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


def shares(make, read):
    """Return the seconds until the operation returned, and until its result was read."""
    make()
    begin = time.perf_counter()
    result = make()
    enqueued = time.perf_counter() - begin
    read(result)
    return enqueued, time.perf_counter() - begin


a, t = np.random.normal(size=(size, size)), torch.randn(size, size, dtype=torch.float64)
a.wait_to_read()
for name, (enqueued, total) in (
    ("engine", shares(lambda: np.dot(a, a), lambda y: y.wait_to_read())),
    ("torch on cpu", shares(lambda: t @ t, lambda y: y[0, 0].item())),
):
    print(f"{name}: returned after {enqueued / total:.0%} of {total:.4f} sec")
