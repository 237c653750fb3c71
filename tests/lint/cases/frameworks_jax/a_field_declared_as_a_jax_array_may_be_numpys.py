import jax
import jax.numpy as jnp
import numpy as np
from typing import NamedTuple


class Batch(NamedTuple):
    x: jnp.ndarray
    lengths: jnp.ndarray


class Output(NamedTuple):
    embeddings: jnp.ndarray


def encode(net: "Net", batch) -> jnp.ndarray:
    out: Output = net.encode(batch)
    return out.embeddings


def save(net, steps: jax.typing.ArrayLike = 5):
    batch: Batch
    for batch in read():
        values = jax.device_get(net.apply(batch.x))  # ASG103
        for i, length in enumerate(batch.lengths):
            if length > 3 and i < steps:
                write(values[i, :length])
        write(np.asarray(encode(net, batch)))  # ASG103
