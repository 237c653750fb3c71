"""A policy's method that is handed what an agent sees runs in each step of an environment.

Not what begins an episode or keeps a state, nor a method of another class.
"""

from tensorflow import keras


class BaseUpdateablePolicy:
    def __init__(self):
        self.greedy_model = keras.Sequential([keras.layers.Dense(4)])

    def greedy(self, s, use_target_model=False):
        return self.greedy_model.predict(s)[0]  # ASG103

    def begin_episode(self, observation):
        return self.greedy_model.predict(observation)[0]  # clean

    def measure(self, size):
        return self.greedy_model.predict(size)[0]  # clean


class Report:
    def __init__(self):
        self.greedy_model = keras.Sequential([keras.layers.Dense(4)])

    def describe(self, state):
        return self.greedy_model.predict(state)[0]  # clean
