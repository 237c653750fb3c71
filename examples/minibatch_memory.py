"""An MLP trained by gluon's Trainer: without a sync each mini-batch, memory grows.

The frontend makes batches faster than the backend consumes them; whatever is enqueued is alive.
Waiting once a batch (here by reading the loss) keeps the queue, and so the memory, bounded.
"""

import sys

import numpy

from asyncguard import Benchmark
from asyncguard.compat import import_mxnet

mxnet = import_mxnet()
from mxnet import autograd, gluon, np, npx  # noqa: E402
from mxnet.gluon import nn  # noqa: E402

npx.set_np()
batches = int(sys.argv[1]) if len(sys.argv) > 1 else 60
batch_size = 1024
features = numpy.random.default_rng(0).standard_normal((batch_size, 1024), dtype="float32")


def data_iter(count):
    """Batches as a data loader makes them: copied from host memory into a new array each."""
    for _ in range(count):
        yield np.array(features), np.ones((batch_size,))


def peak_mib():
    """The most resident memory so far, in MiB (Linux; rusage would include the parent's)."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


net = nn.Sequential()
net.add(nn.Dense(1024, activation="relu"), nn.Dense(1))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd")
square_loss = gluon.loss.L2Loss()


def train_batch(X, y):
    with autograd.record():
        batch_loss = square_loss(net(X), y)
    batch_loss.backward()
    trainer.step(X.shape[0])
    return batch_loss


def epoch(count, sync):
    for X, y in data_iter(count):
        batch_loss = train_batch(X, y)
        if sync:
            batch_loss.wait_to_read()
    npx.waitall()


def measure(name, sync):
    before = peak_mib()
    with Benchmark(name):
        epoch(batches, sync)
    print(f"increased memory: {peak_mib() - before:.0f} MB")


epoch(2, sync=True)  # the first batches also allocate what every batch needs
measure("a sync each mini-batch", sync=True)
measure("no sync", sync=False)
