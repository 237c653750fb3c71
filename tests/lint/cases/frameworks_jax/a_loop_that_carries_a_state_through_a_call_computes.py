import jax
from jax.experimental.multihost_utils import process_allgather


def evaluate(infer, data, state, num_steps):
    for _ in range(num_steps):
        state = infer(data, state)
        process_allgather(state.result)  # ASG202
