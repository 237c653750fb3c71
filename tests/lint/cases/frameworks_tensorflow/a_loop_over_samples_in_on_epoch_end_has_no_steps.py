import tensorflow as tf


class Monitor(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        images = tf.random.normal((self.samples, 28))
        for i in range(self.num_samples):
            draw(tf.squeeze(images[i]).numpy())  # clean
        for batch in self.batches:
            self.scores.append(self.model(batch).numpy())  # ASG103
