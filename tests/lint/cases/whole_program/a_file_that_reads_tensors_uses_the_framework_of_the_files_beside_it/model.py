import tensorflow as tf


class Model(tf.keras.Model):
    @tf.function
    def train_step(self, batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(batch))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return loss
