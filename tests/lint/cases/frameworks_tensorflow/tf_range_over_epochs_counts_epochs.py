import tensorflow as tf


def fit(model, loss, dataset, epochs):
    for _ in tf.range(0, epochs):
        run(model, dataset)
        print(tf.reduce_sum(model(loss)))  # clean
