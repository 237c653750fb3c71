"""10,000 increments on MXNet: wait after each, then wait once."""

from mxnet import np, npx

import asyncguard

npx.set_np()
x = np.ones((1, 2))

with asyncguard.Benchmark("a wait each"):
    for _ in range(10_000):
        y = x + 1
        y.wait_to_read()

with asyncguard.Benchmark("one wait"):
    for _ in range(10_000):
        y = x + 1
    npx.waitall()
