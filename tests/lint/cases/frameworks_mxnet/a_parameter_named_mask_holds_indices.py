import mxnet as mx


def train(net, loader, mask):
    for x in loader:
        with mx.autograd.record():
            loss = net(x)[mask].sum()
        loss.backward()
        print(loss)  # ASG101
