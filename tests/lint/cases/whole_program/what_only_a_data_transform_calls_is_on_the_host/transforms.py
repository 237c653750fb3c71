import mxnet as mx
from targets import Losses, Targets


class DefaultTrainTransform:
    def __init__(self):
        self.targets = Targets()
        self.losses = Losses()

    def __call__(self, image, label):
        return image, self.targets(mx.nd.array(label)), self.losses(mx.nd.array(label))


class Net(mx.gluon.Block):
    def __init__(self):
        super().__init__()
        self.losses = Losses()

    def forward(self, x):
        return self.losses(x)
