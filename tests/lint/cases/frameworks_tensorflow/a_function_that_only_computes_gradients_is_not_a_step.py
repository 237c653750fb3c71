import numpy as np
import tensorflow as tf


class Saliency:
    def explain(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_max(self.model(x))
        gradients = tape.gradient(loss, self.model.weights)
        pass
        return np.max(loss)  # clean


class Saliency2:
    def explain(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_max(self.model(x))
        gradients = tape.gradient(loss, self.model.weights)
        self.optimizer.apply_gradients(zip(gradients, self.model.weights))
        return np.max(loss)  # ASG103
