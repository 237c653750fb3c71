import jax.numpy as jnp


def log(steps, batch, due):
    if due:
        for key, value in batch.items():
            print(jnp.mean(value))  # clean
    for step in range(steps):
        print(jnp.mean(batch["x"]))  # ASG101
