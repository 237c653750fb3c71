import jax
import numpy as np


class SACAgent:
    def sample(self, observations):
        return np.asarray(jax.nn.tanh(observations))  # ASG103
