import jax


class Trainer:
    def train_loop(self, train_state, train_step, batches, steps):
        total = 0
        for i in range(steps):
            train_state, loss = train_step(train_state, next(batches))
            total += loss
            print(loss.item())  # ASG102
        return total, train_state

    def fit(self, train_state, batches, steps, rounds):
        train_step = jax.jit(self.step)
        done = 0
        while done < rounds:
            total, train_state = self.train_loop(train_state, train_step, batches, steps)
            print(f"{total}")  # clean
            done += 1
