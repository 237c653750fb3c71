import jax.numpy as jnp


def solve(u, x):
    return jnp.dot(u, x)


def factorize(u, x, num_steps):
    for step in range(num_steps):
        error = solve(u, x)
        print(f"{error:.3f}")  # ASG101


def factorizes(u, x, paths):
    for path in paths:
        print(solve(u, path))  # clean
