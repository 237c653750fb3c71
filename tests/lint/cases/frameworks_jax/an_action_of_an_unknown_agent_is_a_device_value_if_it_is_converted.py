import jax
import numpy as np


def evaluate(agent, env):
    done = False
    while not done:
        action = agent.sample_actions(x)
        action = np.array(action)  # ASG103
        x, reward, done, _ = env.step(action)


def evaluate_2(agent, env):
    done = False
    while not done:
        action = agent.sample_actions(x)
        print(int(action))  # clean
        x, reward, done, _ = env.step(action)


def evaluate_3(player, env):
    done = False
    while not done:
        action = player.choices(x)
        action = np.array(action)  # clean
        x, reward, done, _ = env.step(action)
