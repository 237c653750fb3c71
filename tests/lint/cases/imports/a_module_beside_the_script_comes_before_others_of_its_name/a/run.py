from mxnet import nd
import utils
from mxnet import autograd


def train(net, batches, trainer):
    for data, label in batches:
        with autograd.record():
            output = net(data)
        output.backward()
        trainer.step(2)
        utils.accuracy(output, label)
