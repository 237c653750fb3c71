from .chosen import xp, Array


def train(net, optimizer, loader):
    for x in loader:
        loss = xp.sum(xp.asarray(x) ** 2)
        print(float(loss), Array())  # ASG102
