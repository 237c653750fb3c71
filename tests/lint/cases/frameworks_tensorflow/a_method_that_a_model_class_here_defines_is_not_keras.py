import tensorflow as tf


class Trainer:
    def train_batch(self, batch):
        with tf.GradientTape() as tape:
            value = self.target_net.evaluate(batch)
        return value


class Policy(tf.keras.Model):
    def evaluate(self, batch):
        return self(batch)  # clean


class Trainer2:
    def train_batch(self, batch):
        with tf.GradientTape() as tape:
            value = self.target_net.predict(batch)  # ASG103
        return value
