import jax
import jax.numpy as jnp
import numpy as np


def sample(model, params, keys):
    normalise = jax.jit(lambda x: x / jnp.sum(x))
    for key in keys:
        scores = model.apply(params, key)
        logits = jax.vmap(lambda row: jnp.log(row))(normalise(scores))
        write(np.asarray(scores))  # ASG103
        write(np.asarray(logits))  # ASG103


def train(loss_fn, params, loader):
    for x, y in loader:
        loss, grads = jax.value_and_grad(lambda p: loss_fn(p, x, y))(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        print(loss)  # ASG101
