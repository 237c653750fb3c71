import jax
import jax.numpy as jnp


@jax.jit
def update(state, batch):
    def loss_of(params):
        loss = jnp.mean((params @ batch) ** 2)
        return loss, {"kl": jnp.max(params)}

    (loss, info), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), dict(info, loss=loss)


def train(state, batches, limit):
    for batch in batches:
        state, info = update(state, batch)
        if info["kl"] > limit:  # ASG104
            break
