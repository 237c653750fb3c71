import tensorflow as tf


class AnchorAssigner:
    def __call__(self, boxes):
        return tf.reduce_max(boxes).numpy()  # ASG103
