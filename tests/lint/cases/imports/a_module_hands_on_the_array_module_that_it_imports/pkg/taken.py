from . import chosen


def train(net, optimizer, loader):
    for x in loader:
        loss = chosen.xp.sum(chosen.xp.asarray(x) ** 2)
        print(float(loss))  # ASG102
