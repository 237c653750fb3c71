"""10,000 increments on the reference engine: wait after each, then wait once."""

import asyncguard
from asyncguard import engine
from asyncguard.engine import np

x = np.ones((1, 2))

with asyncguard.Benchmark("a wait each"):
    for _ in range(10_000):
        y = x + 1
        y.wait_to_read()

with asyncguard.Benchmark("one wait"):
    for _ in range(10_000):
        y = x + 1
    engine.waitall()
