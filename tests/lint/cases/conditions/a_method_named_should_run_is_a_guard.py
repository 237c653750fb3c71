# settings: min_confidence=low
import jax


class Action:
    def after(self, step):
        if self._should_run():
            print(jax.numpy.mean(self.cache))  # clean


def train(update, state, batches):
    action = Action()
    for batch in batches:
        state = update(state, batch)
        action.after(batch)


class Action2:
    def after(self, step):
        if self._wants():
            print(jax.numpy.mean(self.cache))  # ASG101


def train_2(update, state, batches):
    action = Action2()
    for batch in batches:
        state = update(state, batch)
        action.after(batch)
