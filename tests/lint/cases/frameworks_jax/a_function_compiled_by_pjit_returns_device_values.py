import jax
from jax.experimental.pjit import pjit


def train(step, state, batches):
    run = pjit(step)
    for batch in batches:
        out = run(batch)
        print(out)  # ASG101
