import jax
from steps import train_step


def run(state, batches):
    for batch in batches:
        state, metrics = train_step(state, batch)
        step = int(state.step)  # ASG102
