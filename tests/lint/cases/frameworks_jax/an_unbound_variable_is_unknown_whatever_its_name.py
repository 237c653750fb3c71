
import jax
import numpy as np


def run(update, params, opt_state, batches):
    for batch in batches:
        params, opt_state, loss = update(params, opt_state, batch)
        np.asarray(action)  # clean


def run_with_another_name(update, params, opt_state, batches):
    for batch in batches:
        params, opt_state, loss = update(params, opt_state, batch)
        np.asarray(movement)  # clean
