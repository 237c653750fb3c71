import tensorflow as tf


def train(model, dataset):
    for x in dataset:
        y = model(x)
        if tf.nest.is_nested(y) or tf.executing_eagerly():
            parts = tf.nest.flatten(y)
            if not parts or tf.is_symbolic_tensor(y):
                continue
        print(tf.reduce_sum(y))  # ASG101
