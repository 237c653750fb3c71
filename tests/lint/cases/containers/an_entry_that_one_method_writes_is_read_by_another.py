import tensorflow as tf


class Agent:
    def __init__(self):
        self.logs = {}

    def learn(self, model, x, variables, optimizer):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        self.logs["loss"] = loss
        self.logs["size"] = len(x)

    def train(self, model, dataset, variables, optimizer):
        for step, x in enumerate(dataset):
            self.learn(model, x, variables, optimizer)
            tf.summary.scalar("loss", self.logs["loss"], step=step)  # ASG107
            tf.summary.scalar("size", self.logs["size"], step=step)
