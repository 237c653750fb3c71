from mxnet import autograd
from mxnet.gluon import Trainer


def train(net, data, trainer, writer):
    total_loss = 0
    for i, batch in enumerate(data):
        with autograd.record():
            losses = [net(x) for x in batch]
        for each in losses:
            each.backward()
        trainer.step(1)
        total_loss += sum([each.asnumpy() for each in losses])  # ASG103
        writer.add_scalar("loss", total_loss, i)
