import jax
import numpy as np


def shard(batch):
    return jax.tree_util.tree_map(lambda x: x.reshape((8, -1) + x.shape[1:]), batch)


def translate(p_pred_step, params, dataset):
    for batch in dataset:
        batch = jax.tree_util.tree_map(lambda x: x._numpy(), batch)
        batch = shard(batch)
        predicted = np.array(p_pred_step(batch["inputs"], params))  # ASG103
        write(predicted, np.array(batch["inputs"]))
