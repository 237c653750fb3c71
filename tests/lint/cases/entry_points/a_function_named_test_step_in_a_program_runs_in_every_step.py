# path: env.py

import jax.numpy as jnp


def test_step():
    assert jnp.ones(3).all()  # ASG104
