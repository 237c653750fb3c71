import jax
import numpy as np


def evaluate(net, params, dataset, n):
    while True:
        for _ in range(n):
            np.asarray(net.apply(params, next(dataset)))  # ASG103
        print(net.apply(params, 0))  # clean


def evaluate_2(net, params, dataset, n):
    while True:
        for _ in range(n):
            np.asarray(net.apply(params, dataset))  # ASG103
        print(net.apply(params, 0))  # ASG101
