# clean

import tensorflow as tf

x = tf.placeholder(tf.float32)


def build(layers):
    for step in range(3):
        with tf.GradientTape() as tape:
            y = tf.nn.relu(x)
        if y in layers:
            print(y)
