import tensorflow as tf


def fuse(layers):
    for layer in layers:
        layer = tf.keras.layers.Dense(1)
        weights = layer.get_weights()[0]  # clean
        layer.set_weights([tf.transpose(weights)])
