"""Increment an array 5,000 times on MXNet: wait for each result."""

from asyncguard.compat import import_mxnet

import_mxnet()
from mxnet import nd  # noqa: E402

import asyncguard  # noqa: E402

x = nd.ones((1, 2))
y = nd.zeros((1, 2))
for _ in asyncguard.steps(range(5000)):
    y = x + y
    y.wait_to_read()
print(y.asnumpy())
