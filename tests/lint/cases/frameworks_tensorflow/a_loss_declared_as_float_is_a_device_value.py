import tensorflow as tf


class Gan:
    def _train(self, x) -> float:
        with tf.GradientTape() as tape:
            loss = tf.sqrt(self.model(x))
        self.optimizer.apply_gradients(tape.gradient(loss, self.variables))
        return loss

    def _score(self, x) -> float:
        return self.model(x).loss

    def fit(self, batches, epochs):
        for epoch in range(epochs):
            for _ in range(2):
                loss = self._train(next(batches))
            self.losses.append(float(loss))  # ASG102
            self.scores.append(self._score(batches))
            if epoch in self.milestones:
                print(loss)  # clean
