"""Reading the loss of every batch with `asscalar`, and once an epoch from a running sum.

Both print the same mean loss; the first makes the frontend wait once a batch.
"""

import asyncguard
from asyncguard import Benchmark
from asyncguard.compat import import_mxnet

mxnet = import_mxnet()
from mxnet import autograd, gluon, nd  # noqa: E402

features = nd.random.normal(shape=(4096, 32))
labels = nd.dot(features, nd.random.normal(shape=(32, 1)))
loader = gluon.data.DataLoader(gluon.data.ArrayDataset(features, labels), batch_size=64)
loss_function = gluon.loss.L2Loss()


def make():
    net = gluon.nn.Dense(1)
    net.initialize(mxnet.init.Constant(0.01))
    return net, gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})


def train_step(net, trainer, X, y):
    with autograd.record():
        loss = loss_function(net(X), y)
    loss.backward()
    trainer.step(X.shape[0])
    return loss


def read_each_batch(net, trainer):
    total = 0.0
    for X, y in loader:
        total += train_step(net, trainer, X, y).mean().asscalar()
    return total / len(loader)


def read_once(net, trainer):
    total = nd.zeros((1,))
    for X, y in loader:
        total += train_step(net, trainer, X, y).mean()
    return total.asscalar() / len(loader)


for name, epoch in (("asscalar each batch", read_each_batch), ("one read an epoch", read_once)):
    with asyncguard.trace() as trace, Benchmark(name):
        mean = epoch(*make())
    at_reads = sum(site.count for site in trace.sites if site.api.endswith("asscalar"))
    print(f"mean loss {mean:.6f}, {at_reads} reads in {trace.step_count} steps")
