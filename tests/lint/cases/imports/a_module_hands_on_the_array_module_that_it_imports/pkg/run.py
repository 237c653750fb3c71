from pkg.settings import xp


def train(net, optimizer, loader):
    for x in loader:
        loss = xp.sum(xp.asarray(x) ** 2)
        print(float(loss))  # ASG102
