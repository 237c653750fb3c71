import tensorflow as tf


def learn(model, first, dataset):
    target = model(first).numpy()  # clean
    for x in dataset:
        target[0] = model(x)  # ASG103
