import jax
import agent


def collect(state, conns, num_steps):
    for _ in range(num_steps + 1):
        logits, values = agent.play(state, [conn.recv() for conn in conns])
        logits, values = jax.device_get((logits, values))  # ASG103


def gather(rows):
    return jax.device_get(([], ()))  # clean
