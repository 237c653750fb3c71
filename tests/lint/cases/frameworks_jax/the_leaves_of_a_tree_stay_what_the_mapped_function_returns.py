import jax
import jax.numpy as jnp
import operator


def count(params):
    sizes = jax.tree_util.tree_map(jnp.size, params)
    return jax.tree_util.tree_reduce(lambda a, b: a + b, sizes)


def is_placed(params):
    places = jax.tree.map(lambda x: x.sharding.memory_kind == "device", params)
    return jax.tree.reduce(operator.or_, places)


def norm(params):
    return jax.tree.reduce(operator.add, jax.tree.map(lambda x: jnp.sum(x * x), params))


def train(state, loader, update):
    for x, y in loader:
        state, loss = update(state, x, y)
        print(f"{count(state.params):.3f}")
        if is_placed(state.params) and norm(state.params) > 1:  # ASG104
            return state
