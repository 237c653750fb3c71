import tensorflow as tf


def evaluate(model, dataset, lines):
    for x in dataset:
        lines.append("{:.3f}".format(tf.reduce_sum(model(x))))  # ASG101
