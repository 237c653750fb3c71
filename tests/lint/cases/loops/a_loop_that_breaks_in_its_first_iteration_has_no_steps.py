import tensorflow as tf


def show(model, dataset):
    for x in dataset:
        print(model(x).numpy())  # clean
        break
    for x in dataset.take(1):
        print(model(x).numpy())  # clean
