import jax


def train(update, state, batches):
    for i, batch in enumerate(batches):
        state, loss = jax.jit(update)(state, batch)
        log, save = [(i % n == 0) for n in (10, 100)]
        if log or save:
            print(loss)  # clean
        print(loss.mean())  # ASG101


def train_2(update, state, batches):
    for i, batch in enumerate(batches):
        state, loss = jax.jit(update)(state, batch)
        log, save = i % 10 == 0, i % 100 == 0
        if log or save:
            print(loss)  # clean
        print(loss.mean())  # ASG101
