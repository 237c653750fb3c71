import jax


def fit(run_epoch, train_state, evaluations):
    for it in range(evaluations):
        train_state, loss = run_epoch(train_state)
        print(loss)  # clean
