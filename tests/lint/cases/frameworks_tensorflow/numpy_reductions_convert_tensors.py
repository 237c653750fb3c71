import numpy as np
import tensorflow as tf


def train(model, dataset, optimizer):
    for x, y in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        best = np.max(model(x))  # ASG103
        shape = np.shape(model(x))
