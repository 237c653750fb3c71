from mxnet import autograd, gluon, nd


def train(net, trainer, train_data, loss_fn):
    for i, (x, y) in enumerate(train_data):
        with autograd.record():
            loss = loss_fn(net(x), y)
        loss.backward()
        trainer.step(1)
        if i % 500 == 0:
            with autograd.record(False):
                sample = net(nd.random.randn(25, 1))
            show(sample.asnumpy())  # clean
