import tensorflow as tf


def train(config, dataset, model):
    decay_steps = [1000, 2000]
    at = tf.Variable(1)
    for decay_step in decay_steps:
        if at > decay_step:  # clean
            at = at + 1
    for batch in dataset:
        model(batch)
        if at in decay_steps:  # ASG104
            at = at + 1


def train_2(config, dataset, model):
    decay_steps = config.stages
    at = tf.Variable(1)
    for decay_step in decay_steps:
        if at > decay_step:  # ASG104
            at = at + 1
    for batch in dataset:
        model(batch)
        if at in decay_steps:
            at = at + 1
