# settings: min_probability=default
import tensorflow as tf
import torch


def act(fetch):
    return fetch(1).numpy()  # clean
