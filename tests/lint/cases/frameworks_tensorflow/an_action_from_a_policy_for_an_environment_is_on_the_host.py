# clean

import numpy as np
import tensorflow as tf


def evaluate(policy, env, count):
    x = env.reset()
    for _ in range(count):
        tf.summary.scalar("x", 0.0, step=0)
        action = policy.get_action(np.asarray(x))
        x, reward, done, _ = env.step(np.clip(action, -1, 1))
