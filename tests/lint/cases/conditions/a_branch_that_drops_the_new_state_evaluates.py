import jax
import optax


@jax.jit
def update(state, batch):
    loss, grads = jax.value_and_grad(loss_fn)(state.params, batch)
    return state.apply_gradients(grads=grads), {"loss": loss}


def train(state, batches, valid, every):
    for i in range(1000):
        state, info = update(state, next(batches))
        if i % every == 0 or i == 1:
            info = jax.device_get(info)  # clean
            _, valid_info = update(state, next(valid))
            log(info, jax.device_get(valid_info))  # clean
