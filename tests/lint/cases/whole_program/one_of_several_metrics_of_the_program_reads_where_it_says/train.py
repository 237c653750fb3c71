import mxnet as mx
from mxnet import autograd, gluon

from metrics import BoxMetric, CountMetric, MaskMetric


def train(net, loader, trainer, loss_fn, kind):
    if kind == "box":
        metric = BoxMetric("box")
    else:
        metric = MaskMetric("mask")
    for data, label in loader:
        with autograd.record():
            out = net(data)
            loss = loss_fn(out, label)
        loss.backward()
        trainer.step(8)
        metric.update(label, out)  # clean


def evaluate(net, loader):
    metrics = [BoxMetric("box"), MaskMetric("mask"), CountMetric("count")]
    for data, label in loader:
        out = net(data)
        for metric in metrics:
            metric.update(label, out)  # clean


def evaluate_with_foreign(net, loader):
    metrics = [BoxMetric("box"), mx.metric.Accuracy()]
    for data, label in loader:
        out = net(data)
        for metric in metrics:
            metric.update(label, out)  # ASG103
