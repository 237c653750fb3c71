import jax
import jax.numpy as jnp


@jax.jit
def update(params, batch):
    loss = jnp.mean((batch @ params) ** 2)
    return params - 0.01 * jnp.mean(batch, axis=0), loss


def batches(number=5):
    return [jnp.ones((4, 3)) * (n + 1) / 7 for n in range(number)]


def fewer_sum(device):
    params, total = jnp.ones(3), 0.0
    for batch in batches():
        params, loss = update(params, batch)
        total += float(loss)
    return round(total, 4)


def fewer_list(device):
    params = jnp.ones(3)
    losses = []
    for batch in batches():
        params, loss = update(params, batch)
        losses.append(loss.item())
    return losses


def fewer_two_reads(device):
    params = jnp.ones(3)
    pairs = []
    for batch in batches():
        params, loss = update(params, batch)
        norm = jnp.linalg.norm(params)
        pairs.append((float(loss), float(norm)))
    return pairs


def fewer_reports(device):
    params = jnp.ones(3)
    for step, batch in enumerate(batches()):
        params, loss = update(params, batch)
        print(f"{step}: {loss}")
    return params.tolist()


def fewer_small_integers(device):
    params, most = jnp.ones(3), 0
    for batch in batches():
        params, loss = update(params, batch)
        most += ((batch > 0).astype(jnp.uint8) * 100).max().item()
    return most, type(most).__name__
