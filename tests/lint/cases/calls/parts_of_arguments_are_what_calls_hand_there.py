import torch


def f(pair):
    lo, hi = pair
    if lo > 0.1:  # ASG104
        work()


def g(losses):
    for loss in losses:
        if loss > 3:  # ASG104
            work()


def h(named):
    for name, loss in named:
        if name > 3:  # clean
            work()
        if loss > 3:  # ASG104
            work()


def k(xs):
    for x in xs:
        if x.done > 3:  # clean
            work()


def m(batch):
    for x in batch:
        if x["loss"] > 3:  # ASG104
            work()


def merged(parts, keys):
    for key in keys:
        found = [part[key] for part in parts if key in part]  # clean
        work(found)


class Item:
    def __init__(self):
        self.done = 3


def main(net, loader, opt):
    for batch in loader:
        loss = net(batch.cuda(non_blocking=True)).mean()
        loss.backward()
        opt.step()
        f((loss, loss * 2))
        g([loss, loss * 3])
        h([("a", loss), ("b", loss)])
        k([Item()])
        m([{"loss": loss, "n": 3}])
        m([{"loss": 3, "n": loss}])
        merged([loss, loss], ["a"])
