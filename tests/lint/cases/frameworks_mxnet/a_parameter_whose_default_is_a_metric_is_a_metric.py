import mxnet as mx


def accuracy(net, val_data, batch_fn, top1=mx.metric.Accuracy(), ctx=[mx.cpu()]):
    for batch in val_data:
        data, label = batch_fn(batch, ctx)
        outputs = [net(x) for x in data]
        top1.update(label, outputs)  # ASG103
    return top1.get()[1]
