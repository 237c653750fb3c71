import jax.numpy as jnp
import numpy as np


def reset(env, logits):
    return env.step(np.asarray(jnp.argmax(logits)))  # clean
