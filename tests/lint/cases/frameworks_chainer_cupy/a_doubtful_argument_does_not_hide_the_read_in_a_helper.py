import chainer
from chainer import cuda


class Regressor(chainer.Chain):
    def scalar(self, value):
        if isinstance(value, chainer.Variable):
            value = value.array
        return cuda.to_cpu(value)  # ASG103

    def __call__(self, x):
        return self.scalar(self.part.unknown(x))
