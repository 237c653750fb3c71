import math
import tensorflow as tf
from tqdm import tqdm


def train(update, params, examples):
    for step, batch in enumerate(tqdm(examples)):
        batch = tf.nest.map_structure(lambda x: x.numpy(), batch)  # ASG103
        params = update(params, batch)
