"""Converting to NumPy or to a Python number waits for the value: an implicit blocker."""

import asyncguard
from asyncguard import Benchmark
from asyncguard.compat import import_mxnet

mxnet = import_mxnet()
from mxnet import np, npx  # noqa: E402

npx.set_np()
a = np.random.normal(size=(1000, 1000))
npx.waitall()

with asyncguard.trace() as trace:
    with Benchmark("numpy conversion"):
        b = np.dot(a, a)
        b.asnumpy()

    with Benchmark("scalar conversion"):
        b = np.dot(a, a)
        b.sum().item()

for site in sorted(trace.sites, key=lambda site: site.line):
    print(f"line {site.line}: {site.api} waited {site.cpu_stall_ns / 1e9:.4f} sec")
