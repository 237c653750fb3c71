import numpy as np
import tensorflow as tf


class Attack:
    def generate(self, x, dataset):
        found = x.astype(np.float32)
        kept = []
        for i, batch in enumerate(dataset):
            found[2 * i : 2 * i + 2] = self.perturbed(batch)  # ASG103
            kept[i] = self.perturbed(batch)
        return found, kept

    def perturbed(self, batch: "tf.Tensor") -> "tf.Tensor":
        return tf.identity(batch)
