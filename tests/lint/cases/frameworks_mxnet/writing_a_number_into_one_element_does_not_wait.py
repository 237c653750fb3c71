import numpy as np
from mxnet import autograd, nd


def encode(anchors, count):
    anchors = anchors.asnumpy()  # ASG103
    targets = nd.zeros((3, 4, 5))
    for b in range(count):
        for a in range(count):
            targets[b, a, 0] = np.log(max(count, 1) / anchors[a, 0])
        targets[b] = anchors  # ASG106
    return targets


def train(net, loader):
    for x, y in loader:
        with autograd.record():
            loss = net(x, encode(y, 3))
        loss.backward()
