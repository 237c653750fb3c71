import tensorflow as tf


class DQNAgent:
    def learn(self):
        self.model = tf.keras.Sequential()
        target = self.model.predict(self.states)  # ASG103
