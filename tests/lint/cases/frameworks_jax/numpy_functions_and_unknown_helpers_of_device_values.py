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


def train_8(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        float(config.score_fn(loss, y))  # clean


def train_9(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        float(config.distance_fn(loss, y))  # ASG102


def train_10(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        # An argument on the device makes the result one.
        np.asarray(chooser.pick(y, seed=key))  # ASG103


def train_11(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        np.asarray(chooser.pick(y, seed=3))  # clean


def train_12(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        np.asarray(helpers.eval_step(state, y))  # ASG103


def train_13(update, params, opt_state, state, loader, config, chooser):
    for x, y in loader:
        key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
        params, opt_state, loss = update(params, opt_state, x)
        np.asarray(helpers.describe(state, y))  # clean
