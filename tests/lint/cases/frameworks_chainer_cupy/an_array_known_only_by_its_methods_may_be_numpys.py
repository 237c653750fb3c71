# clean

import chainer


def train(model, optimizer, subset, views: list):
    for batch in subset:
        images = batch.images.transpose(0, 1, 4, 2, 3).astype("f")
        first = images[:, views]
        loss = model(first)
        loss.backward()
        optimizer.update()
