"""Train a network with JAX: `float` reads the loss of each step."""

import jax
import jax.numpy as jnp

import asyncguard


def loss_of(weights, x, y):
    hidden = jnp.tanh(x @ weights["in"])
    return jnp.mean((hidden @ weights["out"] - y) ** 2)


@jax.jit
def update(weights, x, y):
    loss, slopes = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda w, slope: w - 0.01 * slope, weights, slopes), loss


keys = jax.random.split(jax.random.key(0), 3)
batches = jax.random.normal(keys[0], (60, 128, 256))
weights = {
    "in": jax.random.normal(keys[1], (256, 512)) / 16,
    "out": jax.random.normal(keys[2], (512, 1)) / 23,
}

losses = []
for x in asyncguard.steps(batches):
    weights, loss = update(weights, x, x[:, :1])
    losses.append(float(loss))
print(f"first loss {losses[0]:.5f}, last loss {losses[-1]:.5f}")
