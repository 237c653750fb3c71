# clean

import jax
import tensorflow as tf
from tqdm import tqdm


def train(update, params, examples):
    for step, batch in enumerate(tqdm(examples)):
        batch = jax.tree_util.tree_map(lambda x: x.numpy(), batch)
        params = update(params, batch)
