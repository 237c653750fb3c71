from .jitted import jax, jnp


@jax.jit
def step(p, x):
    print(float(x[0]))
    return p - 0.1 * x, jnp.sum(p * x)


def train(p, loader):
    for x in loader:
        p, loss = step(p, x)
        print(float(loss))  # ASG102
    return p
