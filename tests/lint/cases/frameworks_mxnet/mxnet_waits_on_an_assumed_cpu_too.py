# settings: assume_device=cpu

import mxnet


def train(model, loader):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        weight = mxnet.nd.ones(3).sum().asscalar()  # ASG102
        print(loss)  # ASG101
