"""`x * y + 2`: the frontend enqueues two operations and goes on; printing the result waits."""

import time

import asyncguard
from asyncguard.compat import import_mxnet

mxnet = import_mxnet()
from mxnet import np, npx  # noqa: E402

npx.set_np()

with asyncguard.trace() as trace:
    x = np.ones((1, 2))
    y = np.ones((1, 2))
    begin = time.perf_counter()
    z = x * y + 2
    print(f"enqueued after {(time.perf_counter() - begin) * 1e6:.0f} us")
    print(z)

for site in trace.sites:
    print(f"line {site.line}: {site.api} waited {site.cpu_stall_ns / 1e3:.0f} us")
