# settings: min_probability=0.09
import tensorflow as tf


def experiment(model, optimizer, epochs):
    first = optimizer.iterations.numpy()  # clean
    for _ in range(first, epochs):
        model(first)


def main(model, optimizer, epochs):
    while True:
        experiment(model, optimizer, epochs)


def experiment_2(model, optimizer, parts):
    first = optimizer.iterations.numpy()  # ASG103
    model(first)


def main_2(model, optimizer, parts):
    while True:
        experiment_2(model, optimizer, parts)
