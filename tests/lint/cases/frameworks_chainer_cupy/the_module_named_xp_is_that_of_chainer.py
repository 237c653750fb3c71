import chainer


def train(loader, xp):
    for batch in loader:
        print(xp.sqrt(batch[0]))  # ASG101
