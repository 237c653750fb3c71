import jax
from model import train_step


def run(state, batches, epochs, steps_per_epoch):
    for i in range(1, int(steps_per_epoch * epochs) + 1):
        metrics = jax.jit(train_step)(state, batches[i])
        jax.device_get(metrics)  # ASG103


def run_2(state, batches, epochs, steps_per_epoch):
    for epoch in range(1, int(steps_per_epoch * epochs) + 1):
        metrics = jax.jit(train_step)(state, batches[epoch])
        jax.device_get(metrics)  # clean
