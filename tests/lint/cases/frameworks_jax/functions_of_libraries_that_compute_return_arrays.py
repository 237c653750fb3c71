import flax.linen as nn
import jax
import optax
from jax.flatten_util import ravel_pytree


def train(step, state, loader):
    for batch in loader:
        state, logits = step(state, batch)
        flat, unravel = ravel_pytree(state)
        print(float(flat[0]))  # ASG102
        print(nn.softmax(logits))  # ASG101
        print(nn.gelu(logits))  # ASG101
        print(optax.squared_error(logits))  # ASG101
        if jax.tree.all(jax.tree.map(lambda x: x > 0, state)):  # ASG104
            break
