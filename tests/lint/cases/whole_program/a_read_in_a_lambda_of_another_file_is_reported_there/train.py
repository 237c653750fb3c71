import jax
import trees


def train(update, params, opt_state, loader):
    for batch in loader:
        params, opt_state, loss = update(params, opt_state, batch)
        print(trees.to_numpy(loss))
