import mxnet as mx


def predict(net, images, ctx):
    data = mx.io.NDArrayIter(images, batch_size=8)
    for batch in data:
        scores = net(batch.data[0].as_in_context(ctx))
        keep(batch.label[0].asnumpy())  # clean
        keep(scores.asnumpy())  # ASG103
