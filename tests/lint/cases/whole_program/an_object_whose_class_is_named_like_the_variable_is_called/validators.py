import tensorflow as tf


class Validator:
    def __call__(self, loss):
        total = 0.0
        for batch in self.dataset:
            total += tf.reduce_mean(self.model(batch))
        return total.numpy()  # clean


class SmallValidator(Validator):
    def __call__(self, loss):
        self.size = 1
        return super().__call__(loss)
