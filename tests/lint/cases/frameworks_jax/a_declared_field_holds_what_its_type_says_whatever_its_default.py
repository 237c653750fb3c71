from typing import Optional

import jax
from flax import struct


class State(struct.PyTreeNode):
    step: int | jax.Array = struct.field(pytree_node=True)


class Metrics:
    loss: float | jax.Array | None = None
    accuracy: Optional[jax.Array] = None
    seconds: float | None = None


def log(metrics: Metrics):
    record = {"loss": float(metrics.loss), "seconds": float(metrics.seconds)}  # ASG102
    if metrics.accuracy is not None:
        record["accuracy"] = float(metrics.accuracy)  # ASG102
    return record


def train(state: State, train_step, loader):
    for batch in loader:
        metrics = train_step(state, batch)
        if int(jax.device_get(state.step)) > 100:  # ASG103
            break
        log(metrics)
