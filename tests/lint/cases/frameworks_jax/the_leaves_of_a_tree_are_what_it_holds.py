import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def update(params, x):
    return jax.tree.map(lambda p: p - x.mean(), params)


def train(params, loader):
    for x in loader:
        params = update(params, x)
        for leaf in jax.tree_util.tree_leaves(params):
            print(leaf)  # ASG101
        flat, structure = jax.tree_util.tree_flatten(params)
        print(flat[0].sum().item())  # ASG102
        print(structure)  # clean
        for leaf in jax.tree_util.tree_leaves({"seen": 1, "lost": 2}):
            print(leaf)  # clean
