# clean

import tensorflow as tf


def train(model, dataset, optimizer):
    names = {}
    for x in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        optimizer.apply_gradients(tape.gradient(loss, model.w))
        names[loss.ref()] = 1
        value = names[loss]
