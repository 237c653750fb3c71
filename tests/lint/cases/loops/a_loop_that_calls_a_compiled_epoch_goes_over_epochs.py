import jax
import jax.numpy as jnp
import optax


def step(state, batch):
    grads = jax.grad(lambda params: jnp.mean((params @ batch) ** 2))(state)
    return optax.apply_updates(state, grads), jnp.mean(grads)


@jax.jit
def epoch_fn(state, batches):
    return jax.lax.scan(step, state, batches)


@jax.jit
def update(state, batch):
    return step(state, batch)


def train(state, batches, rounds):
    for _ in range(rounds):
        state, metrics = epoch_fn(state, batches)
        jax.block_until_ready(metrics)  # clean


def train_by_steps(state, batch, rounds):
    for _ in range(rounds):
        state, metrics = update(state, batch)
        jax.block_until_ready(metrics)  # ASG201
