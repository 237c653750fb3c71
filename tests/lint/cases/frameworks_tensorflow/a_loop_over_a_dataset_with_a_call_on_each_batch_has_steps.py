import tensorflow as tf


def score(scorer, dataset, names):
    for x in dataset:
        scorer.score(x)
        names.append(tf.cast(x, tf.float32).numpy())  # ASG103
