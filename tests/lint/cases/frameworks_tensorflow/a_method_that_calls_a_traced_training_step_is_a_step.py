import numpy as np
import tensorflow as tf


class Policy:
    def train(self, states):
        loss, logp = self._train_body(states)
        tf.summary.scalar(name="loss", data=loss)  # ASG107
        tf.summary.scalar(name="logp", data=np.mean(logp))  # ASG103

    @tf.function
    def _train_body(self, states):
        with tf.GradientTape() as tape:
            loss = self.actor(states)
        grads = tape.gradient(loss, self.actor.variables)
        self.optimizer.apply_gradients(zip(grads, self.actor.variables))
        tf.summary.scalar(name="inner", data=loss)
        return loss, loss
