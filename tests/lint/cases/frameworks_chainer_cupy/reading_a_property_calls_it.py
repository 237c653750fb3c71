import chainer


class Agent:
    @property
    def temperature(self):
        return float(self.holder().array)  # ASG102

    def update_core(self, loss):
        print(loss)  # ASG101
        return self.temperature * loss
