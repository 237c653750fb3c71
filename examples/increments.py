"""10,000 increments: a barrier after each, or one for all of them.

Waiting each time makes every operation pay for the way to the backend and back.
"""

import sys

from asyncguard import Benchmark
from asyncguard.compat import import_mxnet

mxnet = import_mxnet()
from mxnet import np, npx  # noqa: E402

npx.set_np()
count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
x = np.ones((1, 2))
npx.waitall()

with Benchmark(f"synchronous, {count:,} waits"):
    for _ in range(count):
        y = x + 1
        y.wait_to_read()

with Benchmark("asynchronous, one wait"):
    for _ in range(count):
        y = x + 1
    npx.waitall()
