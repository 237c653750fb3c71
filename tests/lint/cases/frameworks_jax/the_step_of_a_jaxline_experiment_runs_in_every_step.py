import jax
from jaxline import utils


def to_scalar(x):
    return x.item()  # ASG102


class Experiment:
    def step(self, rng):
        self.params, self.opt_state, scalars = self.updater.update(self.params, self.opt_state, rng)
        scalars = utils.get_first(scalars)
        return jax.tree.map(to_scalar, scalars)
