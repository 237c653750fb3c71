import tensorflow as tf


def collect(model, rows):
    loader = tf.data.Dataset.from_tensor_slices(rows).shuffle(9).batch(3)
    return [x.numpy() for x in loader]  # clean


def collect_2(model, rows):
    loader = tf.data.Dataset.from_tensor_slices(rows).shuffle(9).batch(3)
    return [model(x).numpy() for x in loader]  # ASG103
