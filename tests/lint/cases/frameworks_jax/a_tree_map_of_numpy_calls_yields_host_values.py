import jax
import numpy as np
import tensorflow as tf


def pad(x, n):
    return np.concatenate([x, np.tile(x[-1], (n, 1))], axis=0)


def predict(step, params, batches):
    for batch in batches:
        batch = jax.tree_util.tree_map(lambda x: x._numpy(), batch)
        batch = jax.tree_util.tree_map(lambda x: pad(x, 3), batch)
        np.array(step(batch, params))  # ASG103


def predict_2(step, params, batches: tf.data.Dataset):
    for batch in batches:
        batch = jax.tree_util.tree_map(lambda x: x._numpy(), batch)
        batch = jax.tree_util.tree_map(lambda x: pad(x, 3), batch)
        np.array(step(batch, params))  # ASG103
