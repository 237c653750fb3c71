import numpy as np
import tensorflow as tf


class Model(tf.keras.Model):
    def action_value(self, observation):
        return np.squeeze(self.predict_on_batch(observation), axis=-1)  # ASG103


class Agent:
    def __init__(self, model):
        self.model = model
        self.model.compile(optimizer="adam")

    def train(self, env, observation, updates):
        for update in range(updates):
            observation, target = env.step(self.model.action_value(observation))
            self.model.train_on_batch(observation, target)  # ASG102
