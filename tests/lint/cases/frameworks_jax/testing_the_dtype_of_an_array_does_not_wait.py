# clean

import jax.numpy as jnp


def fit(state, batches):
    for batch in batches:
        state = state.apply_gradients(grads=jnp.sqrt(batch))
        if jnp.iscomplexobj(batch):
            pass
