# clean

import jax


def run(self, keys, state):
    for key in keys:
        state = state.apply_gradients(grads=key)
        if self.enable_loss:
            pass
