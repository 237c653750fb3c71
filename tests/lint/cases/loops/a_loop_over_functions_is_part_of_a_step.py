import jax


def train(update, state, batches, functions):
    for step, batch in enumerate(batches):
        state = jax.jit(update)(state, batch)
        if step % 100 == 0:
            for value_fn in functions:
                print(value_fn(state, batch))  # clean
