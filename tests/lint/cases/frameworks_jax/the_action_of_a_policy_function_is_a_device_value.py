import jax
import numpy as np


def evaluate(policy_fn, env):
    observation, done = env.reset(), False
    while not done:
        action = policy_fn(observation)
        if np.random.random() < 0.1:
            action = np.random.choice([0, 1])
        observation, reward, done, info = env.step(np.array(action))  # ASG103
