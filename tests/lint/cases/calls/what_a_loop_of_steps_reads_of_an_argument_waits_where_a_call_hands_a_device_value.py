import torch
from torch import nn
from yacs.config import CfgNode

_C = CfgNode()


class Piece:
    def __init__(self, name):
        self.start = len(name)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, t):
        return self.layer(x) * t


def denoise(net, levels, x):
    for last, now in zip(levels[:-1], levels[1:]):
        if now > 0.1:  # ASG104
            x = net(x, last)
    return x


def denoise_by_numbers(net, levels, x):
    for last, now in zip(levels[:-1], levels[1:]):
        if now > 0.1:  # clean
            x = net(x, last)
    return x


def train(config, net, loader, optimizer):
    for index, batch in enumerate(loader):
        loss = net(batch.cuda(non_blocking=True), 1).mean()
        loss.backward()
        if (index + 1) % config.TRAIN.EVERY == 0:  # clean
            optimizer.step()


def pieces(net, loader):
    for name, batch in loader:
        part = net(batch.cuda(non_blocking=True), 1)
        yield [(Piece(name), part), (Piece(name), part * 2)]


def merge(net, pieces):
    for piece in pieces:
        for about, part in piece:
            if about.start > 0:  # clean
                net(part, 1)


def settings():
    config = _C.clone()
    config.freeze()
    return config


def main(loader):
    net = Net().cuda()
    levels = torch.linspace(1, 0, 20, device="cuda")
    x = torch.randn(4, 3, device="cuda")
    denoise(net, levels, x)
    denoise_by_numbers(net, [1.0, 0.5, 0.0], x)
    merge(net, pieces(net, loader))
    train(settings(), net, loader, torch.optim.SGD(net.parameters()))


main(torch.load("loader"))
