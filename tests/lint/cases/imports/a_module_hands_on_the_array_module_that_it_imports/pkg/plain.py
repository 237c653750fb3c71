from pkg.settings import own as xp


def train(net, optimizer, loader):
    for x in loader:
        loss = xp.sum(xp.asarray(x) ** 2)
        print(float(loss))  # clean
