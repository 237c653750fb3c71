import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x, t):
        return x * t


def sample(net, levels, verbose, steps):
    def chunk(k):
        x = torch.randn(k, 3, device=levels.device)
        for last, now in zip(levels[:-1], levels[1:]):
            if verbose:  # clean
                show(x)
            if steps > 3:  # clean
                show(x)
            if now > 0.1:  # ASG104
                x = net(x, last)
        return x

    return torch.cat([chunk(4) for _ in range(3)])


def main(flags):
    net = Net().cuda()
    sample(net, torch.linspace(1, 0, 20, device="cuda"), True, 4)
    sample(net, torch.linspace(1, 0, 40, device="cuda"), flags.cuda(), 8)


main(torch.load("flags"))
