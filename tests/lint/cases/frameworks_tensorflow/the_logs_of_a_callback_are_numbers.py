import tensorflow as tf


class Finder(tf.keras.callbacks.Callback):
    def on_batch_end(self, batch, logs):
        loss = logs["loss"]
        if loss > 3:  # clean
            print(loss)


class Finder2(tf.keras.callbacks.Callback):
    def on_batch_end(self, batch, values):
        loss = values["loss"]
        if loss > 3:  # ASG104
            print(loss)  # clean
