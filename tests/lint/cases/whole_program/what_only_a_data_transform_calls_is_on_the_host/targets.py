import mxnet as mx
from mxnet import gluon


class Targets(gluon.Block):
    def forward(self, boxes: mx.nd.NDArray):
        return boxes.asnumpy()  # clean


class Losses(gluon.Block):
    def forward(self, boxes: mx.nd.NDArray):
        return boxes.asnumpy()  # ASG103
