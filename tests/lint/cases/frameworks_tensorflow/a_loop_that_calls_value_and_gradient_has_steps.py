import tensorflow as tf
import tensorflow_probability as tfp


def search(score, points):
    while True:
        values = tfp.math.value_and_gradient(score, points)
        points = yield values[0].numpy()  # ASG103


def search_2(score, points):
    while True:
        values = tfp.math.reduce_logmeanexp(score, points)
        points = yield values[0].numpy()  # clean
