import jax
import numpy as np
from scipy import optimize


def value_of(function):
    compiled = jax.jit(function)

    def wrapper(x):
        return np.asarray(compiled(x))  # ASG103

    return wrapper


def slope_of(function):
    compiled = jax.jit(jax.grad(function))

    def wrapper(x):
        return np.asarray(compiled(x))  # ASG103

    return wrapper


def solve(function, x, by_slope):
    if by_slope:
        target = slope_of(function)
    else:
        target = value_of(function)
    return optimize.minimize(target, x)
