import chainer


def train(iterator, updater, optimizer, losses):
    for batch in iterator:
        updated = updater(batch)
        optimizer.update()
        losses.append(float(updated.data))  # ASG102
