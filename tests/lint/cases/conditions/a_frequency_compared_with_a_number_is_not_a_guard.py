import tensorflow as tf


def train(model, dataset, loss_of, step, log_freq):
    for x in dataset:
        loss = loss_of(model(x))
        step.assign_add(1)
        if log_freq > 0 and tf.equal(tf.math.mod(step, log_freq), 0):  # ASG104
            continue
