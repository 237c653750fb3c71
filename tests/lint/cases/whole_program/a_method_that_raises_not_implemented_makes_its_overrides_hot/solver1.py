import numpy as np
import jax.numpy as jnp
from base import Solver


class Wrapper1(Solver):
    def tell(self, scores: jnp.ndarray):
        self.solver.take(-np.array(scores))  # ASG103
