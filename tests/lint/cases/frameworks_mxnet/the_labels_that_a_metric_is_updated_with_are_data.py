import mxnet as mx
import numpy as np


class Right(mx.metric.EvalMetric):
    def __init__(self, names):
        super().__init__("right")
        self.names = names

    def update(self, labels, preds):
        label = labels[self.names.index("label")].asnumpy()  # clean
        chosen = preds[0].asnumpy().argmax(axis=1)  # ASG103
        self.sum_metric += np.sum(chosen == label)
        self.num_inst += len(label)
