from mxnet import autograd


def train(model, criterion, trainer, loader):
    for x, y in loader:
        with autograd.record():
            outputs = [model(part)[0] for part in x]
            losses = [criterion(part, y) for part in outputs]
        trainer.step(1)
        loss = sum([part.asscalar() for part in losses])  # ASG102
        loss = loss / sum([part.shape[0] for part in losses])
        print(loss)
