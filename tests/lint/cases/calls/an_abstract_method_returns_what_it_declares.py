from abc import abstractmethod

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


class PolicyBase(nnx.Module):
    def sample(self, obs: jnp.ndarray, key: jnp.ndarray) -> jnp.ndarray:
        """Sample an action."""
        raise NotImplementedError

    def greedy(self, obs):
        raise NotImplementedError

    @abstractmethod
    def random(self, obs: jnp.ndarray) -> np.ndarray: ...


class Gaussian(PolicyBase):
    @nnx.jit
    def sample(self, obs: jnp.ndarray, key: jnp.ndarray) -> jnp.ndarray:
        return jax.random.normal(key, obs.shape)


def collect(envs, policy: PolicyBase, key, obs, steps):
    for _ in range(steps):
        key, sub = jax.random.split(key)
        action = np.array(policy.sample(obs, sub))  # ASG103
        other = np.array(policy.greedy(obs))
        third = np.array(policy.random(obs))  # clean
        obs, reward, done, trunc, info = envs.step(action + other + third)
