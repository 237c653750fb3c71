import chainer


class Agent(chainer.Chain):
    def update_core(self, rewards, x: chainer.Variable):
        xp = self.xp
        a = xp.array([1.0 for _ in range(9)])  # ASG106
        b = xp.asarray(rewards, dtype=xp.float32)  # ASG106
        c = chainer.cuda.to_gpu(rewards)  # ASG106
        d = xp.asarray(rewards)
        return a, b, c, d, xp.array(x.array)
