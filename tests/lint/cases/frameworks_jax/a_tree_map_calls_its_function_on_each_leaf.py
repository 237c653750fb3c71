import jax
import numpy as np
import jax.numpy as jnp


def fit(step, params, opt_state, keys):
    for key in keys:
        params, opt_state, loss = step(params, opt_state, key)
        metrics = {"loss": jnp.mean(loss)}
        host = jax.tree.map(lambda x: np.asarray(x), metrics)  # ASG103
        print(host)
