import mxnet as mx


class BoxMetric(mx.metric.EvalMetric):
    def update(self, labels, preds):
        self.sum_metric += preds.asnumpy().sum()  # ASG103


class MaskMetric(mx.metric.EvalMetric):
    def update(self, labels, preds):
        self.sum_metric += preds.asnumpy().max()  # ASG103


class CountMetric(mx.metric.EvalMetric):
    def update(self, labels, preds):
        self.num_inst += len(preds)
