import tensorflow as tf


def train(model, target, data):
    for x, y in data:
        model.train_on_batch(x, y)  # ASG102
        target.set_weights(model.get_weights())  # ASG103
