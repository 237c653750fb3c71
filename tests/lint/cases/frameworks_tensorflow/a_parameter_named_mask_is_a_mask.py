import tensorflow as tf


def evaluate(model, dataset, train_mask):
    for x in dataset:
        y = model(x)
        tf.reduce_sum(y[train_mask])  # ASG105
