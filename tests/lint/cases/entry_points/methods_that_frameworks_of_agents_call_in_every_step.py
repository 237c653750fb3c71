import tensorflow as tf


class MyEvaluator:
    def eval_reduce(self, state, outputs):
        return tf.reduce_sum(outputs["mode"]).numpy()  # ASG103


class MyEvaluator2:
    def eval_report(self, state, outputs):
        return tf.reduce_sum(outputs["mode"]).numpy()  # clean


class MyAgent:
    def policy(self, state, outputs):
        return tf.reduce_sum(outputs["mode"]).numpy()  # ASG103


class MySchedule:
    def policy(self, state, outputs):
        return tf.reduce_sum(outputs["mode"]).numpy()  # clean
