import numpy as np
import tensorflow as tf


class Agent:
    def act(self, state):
        model = tf.keras.Sequential()
        action = model.predict(state)  # ASG103
        return np.argmax(tf.clip_by_value(action, -1, 1))  # ASG103
