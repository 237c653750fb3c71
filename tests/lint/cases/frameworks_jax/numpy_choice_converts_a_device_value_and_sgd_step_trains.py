import jax
import numpy as np


class Agent:
    def __init__(self, forward, sgd_step):
        self._forward, self._sgd_step = jax.jit(forward), jax.jit(sgd_step)

    def select_action(self, timestep):
        values = self._forward(timestep.observation[None])
        return np.random.choice(np.flatnonzero(values == values.max()))  # ASG103

    def update(self, timestep):
        self._state = self._sgd_step(self._state, timestep)
        if self._state.step % self._period == 0:  # ASG104
            self._state = self._state._replace(target=self._state.params)
