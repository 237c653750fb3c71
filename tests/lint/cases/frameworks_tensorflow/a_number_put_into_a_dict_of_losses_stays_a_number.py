import numpy as np
import tensorflow as tf
from time import time


class Trainer:
    @tf.function
    def train_step(self, data):
        return self.strategy.run(self._train_step, args=(next(data),))

    def train(self, data):
        for _ in range(0, self.train_steps, self.count):
            start = time()
            losses = self.train_step(data)
            losses["time"] = np.round(time() - start, 2)  # ASG402
            print(self.count / losses["time"])
            print(losses["total"])  # ASG101
