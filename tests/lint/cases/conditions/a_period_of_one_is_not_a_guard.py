import tensorflow as tf


def evaluate(model, dataset):
    for i, x in enumerate(dataset):
        if i % 1 == 0:
            print(model(x).numpy())  # ASG103
