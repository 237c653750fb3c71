"""The cost model of the chapter, measured on the reference engine.

n operations with a wait after each should take n(t1 + t2 + t3), with one wait at the end
t1 + n t2 + t3, where the worker is the bottleneck. One workload of each kind: large products, where
it is; large inputs for small results, where the frontend is; and tiny sums, which cannot overlap
at all, because both sides need Python's interpreter lock.
"""

import sys

import numpy

from asyncguard.engine import np
from asyncguard.engine.costmodel import measure, report

scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
matrix = np.random.normal(size=(500, 500))
small = np.ones((1, 2))
unsorted = numpy.random.default_rng(0).standard_normal(100_000)


def product():
    return np.dot(matrix, matrix)


def sorted_input():
    """The frontend sorts on the host before it has anything to enqueue."""
    return np.sin(np.array(numpy.sort(unsorted)[:20_000]))


def tiny_sum():
    return small + 1


for name, operation, n in (
    ("500 x 500 dot", product, 40),
    ("sin of an input sorted on the host", sorted_input, 200),
    ("x + 1 on shape (1, 2)", tiny_sum, 10_000),
):
    print(report(measure(operation, max(2, int(n * scale)), name=name)))
