import numpy as np
import tensorflow as tf


def scaled(x):
    return x / np.ones(3)


def evaluate(model, dataset):
    held = np.zeros(10)
    for i, x in enumerate(dataset):
        held[i] = scaled(model(x))  # ASG103
