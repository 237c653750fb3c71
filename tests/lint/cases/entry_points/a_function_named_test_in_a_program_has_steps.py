# path: train.py

import torch


def test_net(net, rows):
    for row in rows:
        print(net(row))  # ASG101
