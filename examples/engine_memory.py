"""A data loop with and without a sync per batch: what is pending at most, in bytes.

Without a sync the frontend enqueues batch after batch, and every batch stays in memory until a
worker comes to it. A wait per batch bounds that, and so does a `queue_limit_bytes` of the engine,
whatever the frontend does: then the push itself waits when the queue is full.
"""

import sys

import numpy

from asyncguard import engine
from asyncguard.engine import np

batches = int(sys.argv[1]) if len(sys.argv) > 1 else 100
features = numpy.random.default_rng(0).standard_normal((256, 256))
LIMIT = 4 * 2**20


def train(wait_each_batch):
    weights = np.ones((256, 256)) / 256
    for _ in range(batches):
        hidden = np.tanh(np.dot(np.array(features), weights))
        loss = (hidden * hidden).mean()
        weights -= 0.01 * np.dot(np.array(features).T, hidden)
        if wait_each_batch:
            loss.wait_to_read()
    engine.waitall()


for name, options, wait in (
    ("no sync", {}, False),
    ("wait_to_read each batch", {}, True),
    ("no sync, queue limited to 4 MiB", {"queue_limit_bytes": LIMIT}, False),
):
    with engine.ThreadedEngine(1, **options) as worker, engine.use(worker):
        train(wait)
        peak = worker.peak_pending_bytes / 2**20
        print(f"{name}: {peak:.2f} MiB pending at most, {worker.peak_depth} operations")
