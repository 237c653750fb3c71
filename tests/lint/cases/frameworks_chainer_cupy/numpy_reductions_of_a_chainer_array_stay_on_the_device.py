import chainer
import chainer.functions as F
import numpy as np


def train(model, train_iter, optimizer):
    for batch in train_iter:
        loss = F.mean(model(batch))
        loss.backward()
        optimizer.update()
        total = np.sum(loss.array)
        if total > 0:  # ASG104
            break
