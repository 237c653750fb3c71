import torch
from net import Net


def run(x, lengths):
    net = Net()
    return net.forward(x, lengths)
