import numpy as np
import tensorflow.compat.v1 as tf


x_ph = tf.placeholder(tf.float32)


def train(sess, env, op, x):
    while True:
        x = tf.nn.relu(x)
        env.step(np.array(x))  # clean


def train_2(sess, env, op, x):
    while True:
        x = tf.nn.relu(x)
        env.step(x.numpy())  # ASG103
