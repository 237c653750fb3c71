"""A launch copies NumPy's arrays; a number is handed by value, and a name alone makes no array."""

import numpy as np
from numba import cuda


@cuda.jit
def advance(x, dt, y):
    y[cuda.grid(1)] = dt * x[cuda.grid(1)]


def call(x_np, y):
    advance[1, 64](x_np, 2.0, y)  # clean


def run(steps, size, length, table):
    x = cuda.to_device(np.zeros(64))
    y = cuda.device_array(64)
    rates = np.linspace(0.0, 1.0, 64)
    for step in range(steps):
        call(x, y)
        advance[1, 64](x, np.float32(0.5), y)  # clean
        advance[1, 64](x, np.sqrt(length) / size, y)  # clean
        advance[1, 64](x, rates.max(), y)  # clean
        advance[1, 64](x, rates[step], y)  # clean
        advance[1, 64](x, np.sqrt(rates), y)  # ASG106
        advance[1, 64](x, 2.0 * rates, y)  # ASG106
        advance[1, 64](rates[:32], 2.0, y)  # ASG106
        advance[1, 64](np.zeros(64), 2.0, y)  # ASG106
