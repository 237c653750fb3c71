import jax
import jax.numpy as jnp


def fit(loss_fn, state, batches, count: jax.Array):
    step = jax.value_and_grad(loss_fn)
    if count > 3:  # clean
        count = count - 1
    for batch in batches:
        loss, grads = step(state, batch)
        state = state.apply_gradients(grads=grads)
