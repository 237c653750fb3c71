import tensorflow as tf


class Env:
    def step(self, action):
        reward = self.reward_model.predict(action)  # ASG103
        return self.state, reward, False, {}

    def reset(self):
        return self.state


class Policy:
    def evaluate_actions(self, obs):
        distribution = self.distribution(self.network(tf.cast(obs, tf.float32)))
        return distribution.sample().numpy()  # ASG103


class Report:
    def describe(self, inputs):
        distribution = self.distribution(self.network(tf.cast(inputs, tf.float32)))
        return distribution.sample().numpy()  # clean
