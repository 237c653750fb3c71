import tensorflow as tf


class Trainer:
    def train(self):
        if not self.ready:
            self.optimizer = tf.keras.optimizers.Adam()
            self.ready = True
        with tf.GradientTape() as tape:
            loss = self.model(self.memory.sample())
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        self.info["loss"] = loss.numpy()  # ASG103


class Trainer2:
    def train(self):
        with self.place:
            self.optimizer = tf.keras.optimizers.Adam()
            self.ready = True
        with tf.GradientTape() as tape:
            loss = self.model(self.memory.sample())
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        self.info["loss"] = loss.numpy()  # clean
