import jax
import numpy as np
from base import Algorithm


class Actor(Algorithm):
    def select_action(self, state):
        action = self._select_action(self.params_actor, state[None])
        return np.array(action[0])  # ASG103

    def widen(self, state):
        return np.array(self._repeat(self.num_params, state)[0])

    def train(self, env):
        state = env.reset()
        for step in range(1000):
            state, reward, done, _ = env.step(self.select_action(state))
            size = self._round(self.meta_params, reward)
            print(float(size))
