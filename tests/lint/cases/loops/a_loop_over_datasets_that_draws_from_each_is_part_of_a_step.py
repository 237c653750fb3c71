import jax


def train(loss_fn, update, state, data, sets, n):
    for step in range(n):
        state = update(state, next(data))
        if step % 100 == 0:
            for split, ds in sets.items():
                print(split, float(loss_fn(state.params, next(ds))))  # clean


def train_2(loss_fn, update, state, data, sets, n):
    for step in range(n):
        state = update(state, next(data))
        if step % 100 == 0:
            for split, ds in sets.items():
                print(split, float(loss_fn(state.params, next(data))))  # ASG102
