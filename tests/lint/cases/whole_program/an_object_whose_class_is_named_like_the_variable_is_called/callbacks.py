import tensorflow as tf


class Callback:
    def __call__(self, step, values):
        raise NotImplementedError


class Recorder(Callback):
    def __call__(self, step, values):
        self.last = tf.reduce_mean(values).numpy()  # ASG103


class Exporter:
    def __call__(self, step, values):
        self.last = tf.reduce_mean(values).numpy()  # clean
