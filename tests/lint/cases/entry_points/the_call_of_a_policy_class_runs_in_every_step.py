import jax
import jax.numpy as jnp


class SamplerPolicy:
    def __call__(self, observations):
        actions = jnp.tanh(observations)
        return jax.device_get(actions)  # ASG103
