import jax
import tensorflow_datasets as tfds


def train(step, params, opt_state, data):
    for batch in tfds.as_numpy(data):
        if batch["weight"].sum() > 0:
            params, opt_state, loss = step(params, opt_state, batch)
        leaves, structure = jax.tree_util.tree_flatten(params)
        if structure != jax.tree_util.tree_structure(opt_state):
            print(loss)  # ASG101
