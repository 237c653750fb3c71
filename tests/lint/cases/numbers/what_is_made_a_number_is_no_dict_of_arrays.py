import jax


class Metrics:
    accuracy: float | jax.Array | None


def log(metrics: Metrics):
    if metrics.accuracy is not None:
        return float(metrics.accuracy)  # ASG102
    return None


def train(train_step, state, loader):
    for batch in loader:
        state, metrics = train_step(state, batch)
        log(metrics)
