import jax


def fit(step, params, opt_state, keys):
    for key in keys:
        params, opt_state, loss = step(params, opt_state, key)
        print(loss)  # ASG101
