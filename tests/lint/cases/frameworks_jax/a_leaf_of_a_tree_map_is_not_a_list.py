# clean

import jax


def run(step, params, opt_state, index):
    for i in range(100):
        params, opt_state = step(params, opt_state)
        index = jax.numpy.argmax(index)
        params = jax.tree.map(lambda p: p[index], params)
