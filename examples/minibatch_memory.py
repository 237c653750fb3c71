"""An MLP trained by gluon's Trainer: without a sync each mini-batch, memory grows.

The frontend makes batches faster than the backend consumes them; whatever is enqueued is alive.
Waiting once a batch (here by reading the loss) keeps the queue, and so the memory, bounded.
"""

import os
import resource
import sys

from asyncguard import Benchmark
from asyncguard.compat import import_mxnet

mxnet = import_mxnet()
from mxnet import autograd, gluon, np, npx  # noqa: E402
from mxnet.gluon import nn  # noqa: E402

npx.set_np()
batches = int(sys.argv[1]) if len(sys.argv) > 1 else 40
batch_size = 1024


def data_iter():
    for _ in range(batches):
        yield np.random.normal(size=(batch_size, 512)), np.ones((batch_size,))


def memory_mib():
    """Resident memory now, in MiB (peak so far where the system has no /proc)."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


net = nn.Sequential()
net.add(nn.Dense(2048, activation="relu"), nn.Dense(512, activation="relu"), nn.Dense(1))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd")
square_loss = gluon.loss.L2Loss()


def train_batch(X, y):
    with autograd.record():
        batch_loss = square_loss(net(X), y)
    batch_loss.backward()
    trainer.step(X.shape[0])
    return batch_loss


for X, y in data_iter():  # the first batch also allocates
    train_batch(X, y)
    break
npx.waitall()


def epoch(name, sync):
    before = peak = memory_mib()
    with Benchmark(name):
        for X, y in data_iter():
            batch_loss = train_batch(X, y)
            if sync:
                batch_loss.wait_to_read()
            peak = max(peak, memory_mib())
        npx.waitall()
    print(f"increased memory: {peak - before:.0f} MB")


epoch("a sync each mini-batch", sync=True)
epoch("no sync", sync=False)
