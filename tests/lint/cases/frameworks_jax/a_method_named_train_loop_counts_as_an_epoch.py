import jax
import jax.numpy as jnp


class Trainer:
    def train_loop(self, state, update, batches, count, step):
        total = 0
        for _ in range(count):
            state, loss = update(state, next(batches))
            if loss <= 1e-8 or jnp.isnan(loss):  # ASG104, ASG104
                print(loss)  # clean
            total += loss
            step += 1
        return total, step, state

    def fit(self, state, batches, count, epochs):
        update = jax.jit(self.update)
        step = self.load()
        while step < count * epochs:
            print(f"{step // count}")
            total, step, state = self.train_loop(state, update, batches, count, step)
            print(total)  # clean
