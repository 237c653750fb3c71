import jax.numpy as jnp
import numpy as np


def advance(env, logits):
    return env.step(np.asarray(jnp.argmax(logits)))  # ASG103
