"""jax's example libraries: a network of stax, trained by its own optimizers."""

import jax
import jax.numpy as jnp
from digest import digest
from jax.example_libraries import optimizers, stax

init, apply = stax.serial(stax.Dense(16), stax.Relu, stax.Dense(3), stax.LogSoftmax)
_, params = init(jax.random.key(0), (-1, 8))
start, update, get = optimizers.momentum(0.1, 0.9)
state = start(params)


@jax.jit
def step(at, state, x, y):
    loss, gradient = jax.value_and_grad(lambda p: -jnp.mean(apply(p, x) * y))(get(state))
    return loss, update(at, gradient, state)


for at in range(5):
    x = jax.random.normal(jax.random.key(at), (6, 8))
    loss, state = step(at, state, x, jax.nn.one_hot(jnp.arange(6) % 3, 3))
    print(loss, float(loss))
print(digest(jax.device_get(jax.tree.leaves(get(state)))))
