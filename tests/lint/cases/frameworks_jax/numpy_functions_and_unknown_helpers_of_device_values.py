import jax
import numpy as np
from flax import jax_utils
import helpers


def train(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        # NumPy calls the array's own method, and the result stays on the device.
        float(np.mean(loss))  # ASG102


def train_2(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        np.mean(loss)  # clean


def train_3(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        # A list has no such method: NumPy copies its elements.
        np.mean([loss, loss])  # ASG103


def train_4(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        float(np.mean([loss, loss]))  # ASG103


def train_5(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        np.power(loss, 2)  # ASG103


def train_6(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        # These may be numbers.
        float(np.mean(losses))  # clean


def train_7(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        # What an unknown function of a library of JAX returns is on the device.
        float(jax_utils.unreplicate(loss))  # ASG102
