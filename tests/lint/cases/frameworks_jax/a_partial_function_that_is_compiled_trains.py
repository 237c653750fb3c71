import functools
import jax
import metrics


class Trainer:
    def __init__(self, config, state):
        self.state = state
        self.step = jax.jit(functools.partial(_train_step, config=config))

    def train(self, batches):
        for batch in batches:
            self.state, loss = self.step(self.state, batch)
            print(loss)  # ASG101

    def get_metrics(self, given):
        return jax.device_get(given)  # clean


def _train_step(state, batch, config):
    loss, grads = jax.value_and_grad(f)(state.params, batch)
    if loss > 3:
        loss = loss * 2
    return state.apply_gradients(grads=grads), metrics.get_metrics(loss)
