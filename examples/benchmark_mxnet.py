"""NumPy computes at once; MXNet returns as soon as the work is enqueued.

The MXNet loop looks far faster than NumPy's until the frontend is made to wait for the backend.
"""

import numpy

from asyncguard import Benchmark
from asyncguard.compat import import_mxnet

mxnet = import_mxnet()
from mxnet import np, npx  # noqa: E402

npx.set_np()

with Benchmark("numpy"):
    for _ in range(10):
        a = numpy.random.normal(size=(1000, 1000))
        b = numpy.dot(a, a)

with Benchmark("mxnet.np, enqueued"):
    for _ in range(10):
        a = np.random.normal(size=(1000, 1000))
        b = np.dot(a, a)

npx.waitall()

with Benchmark("mxnet.np, finished"):
    for _ in range(10):
        a = np.random.normal(size=(1000, 1000))
        b = np.dot(a, a)
    npx.waitall()
