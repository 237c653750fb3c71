import jax
import numpy as np


def train(update, params, opt_state, keys):
    data = np.zeros((10, 3))
    for key in keys:
        chosen = jax.random.randint(key, (4,), 0, 10)
        params, opt_state, loss = update(params, opt_state, data[chosen])  # ASG103


def train_2(update, params, opt_state, keys):
    data = np.zeros((10, 3))
    for key in keys:
        chosen = jax.random.randint(key, (4,), 0, 10)
        params, opt_state, loss = update(params, opt_state, data[0])  # clean
