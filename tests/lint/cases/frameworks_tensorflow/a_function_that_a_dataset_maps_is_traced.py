import tensorflow as tf


class Agent:
    def act(self, x):
        return tf.unique(x)

    def train(self, model, rows):
        data = tf.data.Dataset.from_tensor_slices(rows).map(self.act)
        for x in data:
            print(model(x))  # ASG101


class Agent2:
    def act(self, x):
        return tf.unique(x)  # ASG105

    def train(self, model, rows):
        data = tf.data.Dataset.from_tensor_slices(rows).apply(self.act)
        for x in data:
            print(model(x))  # ASG101
