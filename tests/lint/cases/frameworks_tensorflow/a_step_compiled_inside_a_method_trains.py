import tensorflow as tf


class Trainer:
    def steps(self, dataset):
        step = tf.function(self._apply)
        for batches in self.group(dataset):
            for batch in batches:
                self.collect(batch)
            loss = tf.reduce_sum(self.total)
            step(loss)
            yield float(loss)  # ASG102

    def _apply(self, scale):
        self.optimizer.apply_gradients(self.gradients(scale))


class Trainer2:
    def steps(self, dataset):
        step = tf.shape(self._apply)
        for batches in self.group(dataset):
            for batch in batches:
                self.collect(batch)
            loss = tf.reduce_sum(self.total)
            step(loss)
            yield float(loss)  # clean

    def _apply(self, scale):
        self.optimizer.apply_gradients(self.gradients(scale))
